; A type with pairs and plain references, described by names: bit 0 marks the plain ones in its list. A root of that type is settled by inline
; code, and so are its writes: a pair where the object's type has such pairs, a plain reference without a question.
; OPTIONS: plan=refcount-prompt
; CHECK: [i32 0, i32 17]
; CHECK: define void @root
; CHECK-NOT: tally_root_settle
; CHECK: and i64 {{.*}}, 64
; CHECK: icmp eq i64 {{.*}}, 64
; CHECK: getelementptr inbounds i8, ptr %v, i64 16
; CHECK: and i64 {{.*}}, -1099511627776
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: call void @poke()
; CHECK-NOT: tally_root_settle
; CHECK: define void @write_the_pair(
; CHECK: load i64, ptr {{.*}}, !invariant.load
; CHECK: call void @tally_write_pair
; CHECK: and i64 {{.*}}, 64
; CHECK: define void @write_the_reference(
; CHECK-NOT: !invariant.load
; CHECK: icmp eq i64 {{.*}}, 32
; CHECK: ret void
@UpVal = external constant i8
!tally.types = !{!0}
!0 = !{ptr @UpVal, !"size", i64 24, !"slots", !"tag-behind", !"tag_mask", i64 64, !"tag_pattern", i64 64, !"pointer_mask", i64 -1,
       !"refs", !{i32 0, i32 16}, !"plain_refs", !{i32 16}}
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_write_pair(ptr, ptr, i64, i64)
declare void @poke() nounwind

define void @root(i64 %word, i64 %tag, ptr %next) nounwind gc "refcount" {
  %v = alloca { i64, i64, ptr }
  call void @llvm.gcroot(ptr %v, ptr @UpVal)
  %tag.at = getelementptr i8, ptr %v, i64 8
  %next.at = getelementptr i8, ptr %v, i64 16
  store i64 %word, ptr %v
  store i64 %tag, ptr %tag.at
  store ptr %next, ptr %next.at
  call void @poke()
  ret void
}
define void @write_the_pair(ptr %object, i64 %word, i64 %tag) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  ret void
}
define void @write_the_reference(ptr %object, ptr %next) nounwind "gc-leaf-function" gc "refcount" {
  %slot = getelementptr i8, ptr %object, i64 16
  call void @llvm.gcwrite(ptr %next, ptr %object, ptr %slot)
  ret void
}
