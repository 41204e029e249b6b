; The same with a mistake in it.
; ERROR-DAG: !tally.types: @Chain: the key "sice" is not known
@Chain = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Chain, !"sice", i64 16, !"refs", !{i32 0}}
declare ptr @tally_new(ptr)
define ptr @link(ptr %next) gc "refcount" {
  %chain = call ptr @tally_new(ptr @Chain)
  ret ptr %chain
}
