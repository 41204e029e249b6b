; A musttail call stays bare, since its frame is gone when the callee runs; its function is not inlined.
; CHECK: call void @poke() [ "deopt"() ]
; CHECK: musttail call void @g(ptr %p)
; CHECK-NOT: [ "deopt"
; CHECK: ret void
; CHECK: noinline
; OPTIMISED-DAG: musttail call void @g(ptr %p)
declare void @g(ptr)
declare void @poke()
define void @f(ptr %p) gc "refcount" {
  tail call void @poke()
  musttail call void @g(ptr %p)
  ret void
}
