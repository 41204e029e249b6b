; A callee that reads nothing (as LLVM infers) may still run an epoch, if only through a callee marked too strongly: the
; bundle alone keeps the store of the root, and the null store that ends it.
; OPTIMISED-DAG: store ptr %p, ptr %r
; OPTIMISED-DAG: call i64 @pure(i64 1) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare i64 @pure(i64) memory(none)
define ptr @f(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %x = call i64 @pure(i64 1)
  %o = load ptr, ptr %r
  %q = getelementptr i8, ptr %o, i64 %x
  ret ptr %q
}
