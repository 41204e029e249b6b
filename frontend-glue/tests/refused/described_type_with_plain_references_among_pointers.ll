; REFUSED: !tally.types: @Node: plain_refs names references among others that have tags, and no reference of this type has
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0, i32 8}, !"plain_refs", !{i32 8}}
