; Bundles of other tags, attributes, metadata, fast-math flags and names survive the rebuilding of a call.
; CHECK: %x = call nnan double %g(double 1.000000e+00) #{{id}} [ "cfguardtarget"(ptr %g), "deopt"() ]
; CHECK: %y = call range(i32 0, 9) i32 @h(ptr noundef nonnull %p) [ "deopt"() ], !mine !
declare i32 @h(ptr)
define double @f(ptr %g, ptr %p) gc "refcount" {
  %x = call nnan double %g(double 1.0) cold [ "cfguardtarget"(ptr %g) ]
  %y = call range(i32 0, 9) i32 @h(ptr noundef nonnull %p), !mine !0
  ret double %x
}
!0 = !{!"kept"}
