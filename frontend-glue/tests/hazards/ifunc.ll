; Hazard: an ifunc, whose resolver runs while the program is relocated: before the runtime is there, and it has bundles like all others.
; LINKED-ONLY: the ifunc @chosen is not supported by `tally run`; use `tally build`
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@chosen = ifunc ptr (ptr), ptr @choose

define ptr @choose() {
  ret ptr @implementation
}

define ptr @implementation(ptr %box) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
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
  %same = call ptr @chosen(ptr %box)
  call void @expect(ptr %same, i64 7)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
