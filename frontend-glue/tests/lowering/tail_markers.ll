; `tail` promises that the callee touches no alloca of this frame; a bundle names them.
; TOTAL-COUNT-1: tail call
; TOTAL-NOT: tail call
; TOTAL2-COUNT-1: notail call void @g() [ "deopt"() ]
; TOTAL2-NOT: notail call void @g() [ "deopt"() ]
; TOTAL3-COUNT-2: call void @g() [ "deopt"() ]
; TOTAL3-NOT: call void @g() [ "deopt"() ]
declare void @g()
define void @f() gc "refcount" {
  tail call void @g()
  notail call void @g()
  ret void
}
