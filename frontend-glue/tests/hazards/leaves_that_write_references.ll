; Hazard: a leaf takes the last reference from a field or a root of its caller; what the caller holds in no root outlives the leaf.
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define internal void @clear_field(ptr %box) noinline "gc-leaf-function" gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr %box, ptr %box)
  ret void
}

define internal void @clear_root(ptr %out) noinline "gc-leaf-function" gc "refcount" {
  store ptr null, ptr %out
  ret void
}

; A leaf where it is called as one.
define internal void @clear_either(ptr %out) noinline gc "refcount" {
  store ptr null, ptr %out
  ret void
}

define internal ptr @take_from_field(ptr %box) noinline "gc-leaf-function" gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %old = load ptr, ptr %box
  store ptr %old, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %box, ptr %box)
  ret ptr %old
}

define i32 @main() gc "refcount" {
  %holder = alloca ptr
  %lent = alloca ptr
  %kept = alloca ptr
  call void @llvm.gcroot(ptr %holder, ptr null)
  call void @llvm.gcroot(ptr %lent, ptr null)
  call void @llvm.gcroot(ptr %kept, ptr null)
  %first = call ptr @box(i64 1)
  store ptr %first, ptr %holder

  %second = call ptr @box(i64 2)
  call void @llvm.gcwrite(ptr %second, ptr %first, ptr %first)
  call void @churn()
  %in_field = load ptr, ptr %first
  call void @clear_field(ptr %first)
  store ptr %in_field, ptr %kept
  call void @churn()
  call void @expect(ptr %in_field, i64 2)

  %third = call ptr @box(i64 3)
  store ptr %third, ptr %lent
  call void @churn()
  %in_root = load ptr, ptr %lent
  call void @clear_root(ptr %lent)
  store ptr %in_root, ptr %kept
  call void @churn()
  call void @expect(ptr %in_root, i64 3)

  %fourth = call ptr @box(i64 4)
  store ptr %fourth, ptr %lent
  call void @churn()
  %in_root_too = load ptr, ptr %lent
  call void @clear_either(ptr %lent) "gc-leaf-function"
  store ptr %in_root_too, ptr %kept
  call void @churn()
  call void @expect(ptr %in_root_too, i64 4)
  call void @clear_either(ptr %lent)

  %fifth = call ptr @box(i64 5)
  call void @llvm.gcwrite(ptr %fifth, ptr %first, ptr %first)
  call void @churn()
  %taken = call ptr @take_from_field(ptr %first)
  store ptr %taken, ptr %kept
  call void @churn()
  call void @expect(ptr %taken, i64 5)
  ret i32 0
}
