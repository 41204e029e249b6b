; REFUSED: !tally.types: @Node: has a value already; declare it `external`
@Node = constant i8 0
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16}
