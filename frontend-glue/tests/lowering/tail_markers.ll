; `tail` promises that the callee touches no alloca of this frame; a bundle names them.
; COUNT 1: tail call
; COUNT 1: notail call void @g() [ "deopt"() ]
; COUNT 2: call void @g() [ "deopt"() ]
declare void @g()
define void @f() gc "refcount" {
  tail call void @g()
  notail call void @g()
  ret void
}
