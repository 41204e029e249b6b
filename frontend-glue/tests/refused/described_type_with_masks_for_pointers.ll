; REFUSED: !tally.types: @Node: masks are of no use where "slots" is "pointer"
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"tag_mask", i64 1}
