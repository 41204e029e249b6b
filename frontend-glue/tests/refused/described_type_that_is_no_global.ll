; REFUSED: !tally.types: entry 0: begin with the address of the global: ptr @Node
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{!"size", i64 16}
