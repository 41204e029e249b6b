; Hazard: the address of a root goes to a callee, to memory and through a select; what is stored through it must be found.
; scenarios 127, 192.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@where = global ptr null

define void @fill(ptr %slot, i64 %value) noinline gc "refcount" {
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %slot
  ret void
}

define void @fill_later() noinline gc "refcount" {
  %box = call ptr @box(i64 3)
  %slot = load ptr, ptr @where
  store ptr %box, ptr %slot
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %out = alloca ptr
  %out2 = alloca ptr
  call void @llvm.gcroot(ptr %out, ptr null)
  call void @llvm.gcroot(ptr %out2, ptr null)
  call void @fill(ptr %out, i64 2)
  store ptr %out2, ptr @where
  call void @fill_later()
  call void @churn()
  %two = load ptr, ptr %out
  %three = load ptr, ptr %out2
  call void @expect(ptr %two, i64 2)
  call void @expect(ptr %three, i64 3)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
