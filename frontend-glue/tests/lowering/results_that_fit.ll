; What comes back in registers is bundled as it is.
; CHECK-NOT: tally.ret
; TOTAL-COUNT-9: [ "deopt"() ]
; TOTAL-NOT: [ "deopt"() ]
declare { i64, i64 } @a()
declare { double, double } @b()
declare i128 @c()
declare <4 x float> @d()
declare { i64, double } @e()
declare [2 x i32] @g()
declare i1 @h()
declare { <4 x i32>, ptr } @i()
define i128 @f(ptr %out) gc "refcount" {
  %a = call { i64, i64 } @a()
  store { i64, i64 } %a, ptr %out
  %b = call { double, double } @b()
  store { double, double } %b, ptr %out
  %c = call i128 @c()
  %d = call <4 x float> @d()
  store <4 x float> %d, ptr %out
  %e = call { i64, double } @e()
  store { i64, double } %e, ptr %out
  %g = call [2 x i32] @g()
  store [2 x i32] %g, ptr %out
  %h = call i1 @h()
  store i1 %h, ptr %out
  %i = call { <4 x i32>, ptr } @i()
  store { <4 x i32>, ptr } %i, ptr %out
  call void @f2()
  ret i128 %c
}
declare void @f2()
