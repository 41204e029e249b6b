; REFUSED: finalize names @end, which has not the form void (ptr)
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}, !"finalize", ptr @end}
declare ptr @tally_new(ptr)
define void @end(i32 %why, i64 %when) gc "refcount" {
  ret void
}
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
