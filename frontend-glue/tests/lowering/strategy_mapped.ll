; Another strategy's name can mean ours.
; OPTIONS: gc-name=jblab-gc
; CHECK: define void @f() #
; CHECK: call void @g() [ "deopt"() ]
declare void @g()
define void @f() gc "jblab-gc" {
  call void @g()
  ret void
}
