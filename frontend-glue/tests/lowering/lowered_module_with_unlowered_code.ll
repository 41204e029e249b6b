; What a linker of bitcode or a plugin can bring into a lowered module, and what an optimiser could lose.
; FOUND-LOWERED-DAG: in @bare: the call of @g may run an epoch but carries no bundle of roots; code was added after the lowering
; FOUND-LOWERED-DAG: in @unlowered: llvm.gcroot was not lowered; lower every module before it is linked or optimised
; FOUND-LOWERED-DAG: in @unlowered: gc "refcount" was not lowered
; FOUND-LOWERED-DAG: in @lost: the bundle of roots names something that is no slot: ptr undef
; FOUND-LOWERED-DAG: in @loaded: the bundle of roots names something that is no slot
; FOUND-LOWERED-DAG: in @odd: the bundle of roots has 1 operands; they come in pairs
; FOUND-LOWERED-DAG: in @no_id: the bundle of roots has an id that is no constant
; FOUND-LOWERED-DAG: in @returned: the address of the root slot %r is returned
declare void @g()
declare void @leaf() "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
define void @bare() {
  call void @g()
  call void @leaf()
  ret void
}
define void @unlowered() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}
define void @lost() {
  call void @g() [ "deopt"(i64 7, ptr undef) ]
  ret void
}
define void @loaded(ptr %p) {
  %q = load ptr, ptr %p
  call void @g() [ "deopt"(i64 7, ptr %q) ]
  ret void
}
define void @odd(ptr %p) {
  call void @g() [ "deopt"(i64 7) ]
  ret void
}
define void @no_id(i64 %p) {
  %r = alloca ptr
  call void @g() [ "deopt"(i64 %p, ptr %r) ]
  ret void
}
define ptr @returned() {
  %r = alloca ptr
  call void @g() [ "deopt"(i64 7, ptr %r) ]
  ret ptr %r
}
define void @good(i1 %c) {
  %r = alloca [2 x ptr]
  %s = alloca ptr
  %second = getelementptr ptr, ptr %r, i64 1
  %one = select i1 %c, ptr %second, ptr %s
  call void @g() [ "deopt"(i64 7, ptr %one, i64 8, ptr null) ]
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"tally.lowered", i32 1}
