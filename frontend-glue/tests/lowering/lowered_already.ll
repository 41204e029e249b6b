; ERROR-DAG: situation.ll: the module is lowered already; hand over the IR as the frontend wrote it
define void @f() {
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"tally.lowered", i32 1}
