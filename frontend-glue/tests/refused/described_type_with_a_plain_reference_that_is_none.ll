; REFUSED: !tally.types: @Nodes: element_plain_refs has the offset 8, and element_refs has not
@Nodes = external constant i8
declare ptr @tally_new_array(ptr, i64)
define i32 @main() gc "refcount" {
  %nodes = call ptr @tally_new_array(ptr @Nodes, i64 3)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Nodes, !"size", i64 8, !"stride", i64 16, !"element_refs", !{i32 0}, !"element_plain_refs", !{i32 8},
       !"slots", !"tagged", !"tag_mask", i64 1, !"pointer_mask", i64 -2}
