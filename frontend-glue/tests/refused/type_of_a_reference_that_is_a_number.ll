; REFUSED: !tally.types: @Node: ref_types names @Other, which is no type descriptor
@Node = external constant i8
@Other = global i32 7
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}, !"ref_types", !{ptr @Other}}
