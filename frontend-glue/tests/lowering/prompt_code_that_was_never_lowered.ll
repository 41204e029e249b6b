; A module that was lowered has got a function of the other plan since.
; FOUND-LOWERED-DAG: in @f: gc "refcount-prompt" was not lowered; lower every module before it is linked or optimised
define void @f() gc "refcount-prompt" {
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"tally.lowered", i32 2}
