; REFUSED: in @asked: llvm.experimental.gc.get.pointer.base.p0.p0 has no answer where roots are not inferred; make it ptr addrspace(1), in a function with a gc strategy, or infer all roots: --roots auto
; REFUSED: in @measured: llvm.experimental.gc.get.pointer.offset.p0 has no answer where roots are not inferred
declare ptr @llvm.experimental.gc.get.pointer.base.p0.p0(ptr)
declare i64 @llvm.experimental.gc.get.pointer.offset.p0(ptr)
define ptr @asked(ptr %pointer) gc "refcount" {
  %base = call ptr @llvm.experimental.gc.get.pointer.base.p0.p0(ptr %pointer)
  ret ptr %base
}
define i64 @measured(ptr %pointer) gc "refcount" {
  %offset = call i64 @llvm.experimental.gc.get.pointer.offset.p0(ptr %pointer)
  ret i64 %offset
}
