; REFUSED: !tally.types: @Node: the value of "fields" is no list of offsets and names: !{i32 0, !"next", i32 8, !"value"}
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}, !"fields", !{!"next", !"value"}}
