; REFUSED: !tally.types: @Node: the key "size" is missing: the bytes of the fixed part
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"refs", !{i32 0}}
