; A host hands a module over that it has built itself: its descriptions become descriptors here, and allocation is inline.
; CHECK: @Chain = constant
; CHECK: define ptr @link
; CHECK: getelementptr i8, ptr {{.*}}, i64 24
@Chain = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Chain, !"size", i64 16, !"refs", !{i32 0}}
declare ptr @tally_new(ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
define ptr @link(ptr %next) gc "refcount" {
  %chain = call ptr @tally_new(ptr @Chain)
  call void @llvm.gcwrite(ptr null, ptr %chain, ptr %chain)
  ret ptr %chain
}
