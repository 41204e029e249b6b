; Hazard: managed functions that are linkonce_odr, weak, in a comdat, behind an alias, hidden, private, available_externally, and an
; extern_weak one that is not there; in two modules that both have them.
; WITH: modules/second.ll
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

$once = comdat any
@alias = alias ptr (i64), ptr @aliased
@weak.alias = weak alias ptr (i64), ptr @aliased
declare extern_weak ptr @absent(i64)
declare ptr @other(ptr)
declare void @of_the_other(i64)
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
define linkonce ptr @linkonce(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}
define private ptr @private(i64 %value)  gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}
define internal fastcc ptr @internal(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}
define hidden ptr @aliased(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}
define available_externally ptr @elsewhere(i64 %value)  gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %b0 = call ptr @once(i64 0)
  call void @expect(ptr %b0, i64 0)
  %b1 = call ptr @weak(i64 1)
  call void @expect(ptr %b1, i64 1)
  %b2 = call ptr @weak_odr(i64 2)
  call void @expect(ptr %b2, i64 2)
  %b3 = call ptr @linkonce(i64 3)
  call void @expect(ptr %b3, i64 3)
  %b4 = call ptr @private(i64 4)
  call void @expect(ptr %b4, i64 4)
  %b5 = call fastcc ptr @internal(i64 5)
  call void @expect(ptr %b5, i64 5)
  %b6 = call ptr @aliased(i64 6)
  call void @expect(ptr %b6, i64 6)
  %b7 = call ptr @alias(i64 7)
  call void @expect(ptr %b7, i64 7)
  %b8 = call ptr @weak.alias(i64 8)
  call void @expect(ptr %b8, i64 8)
  %b9 = call ptr @elsewhere(i64 9)
  call void @expect(ptr %b9, i64 9)
  %same = call ptr @other(ptr %box)
  call void @of_the_other(i64 9)
  %there = icmp ne ptr @absent, null
  br i1 %there, label %wrong, label %go_on
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
