; Hazard: a rooted function is inlined into a rooted one: its call must name the roots of both, and the slots must stay two.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @inner(i64 %value) alwaysinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @inner(i64 8)
  call void @inner(i64 9)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
