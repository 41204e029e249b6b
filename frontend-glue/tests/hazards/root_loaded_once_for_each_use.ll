; Hazard: object and slot of a write are computed from two loads of a root, as frontends do that load variables anew for each use.
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %holder = alloca ptr
  %kept = alloca ptr
  call void @llvm.gcroot(ptr %holder, ptr null)
  call void @llvm.gcroot(ptr %kept, ptr null)
  %first = call ptr @box(i64 1)
  store ptr %first, ptr %holder
  %second = call ptr @box(i64 2)
  call void @llvm.gcwrite(ptr %second, ptr %first, ptr %first)
  call void @churn()
  %object = load ptr, ptr %holder
  %old = load ptr, ptr %object
  store ptr %old, ptr %kept
  %again = load ptr, ptr %holder
  %slot = load ptr, ptr %holder
  call void @llvm.gcwrite(ptr null, ptr %again, ptr %slot)
  call void @churn()
  call void @expect(ptr %old, i64 2)
  ret i32 0
}
