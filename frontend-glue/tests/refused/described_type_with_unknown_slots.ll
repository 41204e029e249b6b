; REFUSED: !tally.types: @Node: the value of "slots" is "fat"; known are pointer, tagged, nan-boxed, tag-before, tag-behind, trace
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"slots", !"fat"}
