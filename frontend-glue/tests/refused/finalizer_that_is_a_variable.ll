; REFUSED: finalize names @dead, which is a variable and no function
@Node = external constant i8
@dead = global i64 0
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}, !"finalize", ptr @dead}
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
