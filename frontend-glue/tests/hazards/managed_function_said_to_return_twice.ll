; Hazard: calls of functions that return twice, as `setjmp`, are no safepoints: LLVM would move what is kept for the second return. A
; managed function that is marked so is none of these, and comes to safepoints.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)

define internal i32 @save() returns_twice noinline gc "refcount" {
  call void @churn()
  ret i32 0
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %five = call ptr @box(i64 5)
  store ptr %five, ptr %root
  %saved = call i32 @save()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 5)
  ret i32 %saved
}
