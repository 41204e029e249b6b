; The second module of programs that have several: the same linkonce and weak functions, a strong one for an
; available_externally one, and functions that call back into the support module.
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

$once = comdat any

define linkonce_odr ptr @once(i64 %value) noinline comdat gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define weak ptr @weak(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define weak_odr ptr @weak_odr(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define  ptr @elsewhere(i64 %value)  gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define ptr @other(ptr %box) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define void @of_the_other(i64 %value) {
  %box = call ptr @once(i64 %value)
  call void @expect(ptr %box, i64 %value)
  ret void
}
