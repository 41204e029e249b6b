; REFUSED: !tally.types: @Node: the flag "cyclic" is not known; known are acyclic, ephemeron, finalize-reverse, finalize-owner-first, finalize-registered
@Node = external constant i8
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %node = call ptr @tally_new(ptr @Node)
  ret i32 0
}
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"flags", !"cyclic"}
