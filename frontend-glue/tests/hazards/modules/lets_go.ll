; Managed functions of another module that let objects die while the caller looks elsewhere.
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @churn()
@held = external global ptr

define void @let_go() nounwind gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr @held, ptr @held)
  call void @churn()
  ret void
}

define void @nothing_to_see() gc "refcount" {
  call void @churn()
  ret void
}

define void @fill(ptr %slot) gc "refcount" {
  %box = call ptr @box(i64 5)
  store ptr %box, ptr %slot
  call void @churn()
  ret void
}
