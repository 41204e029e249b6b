; Hazard: `nocallback` (C's `leaf`) promises that a function does not call back into the caller's module. A managed function of another
; module keeps that, and lets objects die.
; WITH: modules/lets_go.ll
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @let_go() nounwind nocallback
@held = global ptr null

define void @look() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = load ptr, ptr @held
  store ptr %box, ptr %root
  call void @let_go()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret void
}

define i32 @main() gc "refcount" {
  %box = call ptr @box(i64 7)
  call void @llvm.gcwrite(ptr %box, ptr @held, ptr @held)
  call void @look()
  ret i32 0
}
