; REFUSED: !tally.types: @Node: is described twice
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0, !1}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
!1 = !{ptr @Node, !"size", i64 24, !"refs", !{i32 16}}
