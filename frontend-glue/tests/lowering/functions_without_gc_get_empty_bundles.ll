; scenario 171
; A bare call inlined into a rooted function would lose the caller's roots; an empty bundle takes them over.
; CHECK: define internal void @helper
; CHECK: call void @poke() [ "deopt"() ]
; CHECK: define ptr @f
; CHECK: call void @helper() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; OPTIMISED-DAG: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; OPTIMISED_GONE-NOT: @helper
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
define internal void @helper() alwaysinline {
  call void @poke()
  ret void
}
define ptr @f(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @helper()
  %o = load ptr, ptr %r
  ret ptr %o
}
