; Hazard: a value is used after its slot was emptied or refilled; at the safepoints before that the slot still protected it.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @emptied(i64 %v) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %root
  call void @churn()
  store ptr null, ptr %root
  call void @expect(ptr %box, i64 %v)
  ret void
}
define void @reloaded(i64 %v) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %root
  %p = load ptr, ptr %root
  call void @churn()
  store ptr null, ptr %root
  call void @expect(ptr %p, i64 %v)
  ret void
}
@g = global ptr null
define void @replaced(i64 %v) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %root
  call void @churn()
  store ptr @g, ptr %root
  call void @expect(ptr %box, i64 %v)
  ret void
}
define i32 @main() gc "refcount" {
  call void @emptied(i64 1)
  call void @reloaded(i64 2)
  call void @replaced(i64 3)
  ret i32 0
}
