; REFUSED: !tally.types: @Node: type descriptor `Node`: offset 16 (number 0) of ref_offsets lies outside the 16 bytes
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 16}}
