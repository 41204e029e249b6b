; Bundles of other tags, attributes, metadata, fast-math flags and names survive the rebuilding of a call.
; CHECK: %x = call nnan double %g(double 1.000000e+00) #{{-?[0-9]+}} [ "convergencectrl"(token %t), "deopt"() ]
; CHECK: %y = call range(i32 0, 9) i32 @h(ptr noundef nonnull %p) [ "deopt"() ], !mine !
declare i32 @h(ptr)
declare token @llvm.experimental.convergence.entry()
define double @f(ptr %g, ptr %p) convergent gc "refcount" {
  %t = call token @llvm.experimental.convergence.entry()
  %x = call nnan double %g(double 1.0) cold convergent [ "convergencectrl"(token %t) ]
  %y = call range(i32 0, 9) i32 @h(ptr noundef nonnull %p), !mine !0
  ret double %x
}
!0 = !{!"kept"}
