; The inliner concatenates bundles: pairs of caller and callee stand side by side.
; OPTIMISED-DAG: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %outer, i64 {{-?[0-9]+}}, ptr
; OPTIMISED_GONE-NOT: @callee
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
define internal ptr @callee(ptr %q) alwaysinline gc "refcount" {
  %inner = alloca ptr
  call void @llvm.gcroot(ptr %inner, ptr null)
  store ptr %q, ptr %inner
  call void @poke()
  %o = load ptr, ptr %inner
  ret ptr %o
}
define i64 @f(ptr %p, ptr %q) gc "refcount" {
  %outer = alloca ptr
  call void @llvm.gcroot(ptr %outer, ptr null)
  store ptr %p, ptr %outer
  %x = call ptr @callee(ptr %q)
  %a = load i64, ptr %x
  %o = load ptr, ptr %outer
  %b = load i64, ptr %o
  %s = add i64 %a, %b
  ret i64 %s
}
