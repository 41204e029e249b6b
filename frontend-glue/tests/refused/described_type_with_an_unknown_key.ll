; REFUSED: !tally.types: @Node: the key "reefs" is not known; known are name, size, align, flags, slots,
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"reefs", !{i32 0}}
