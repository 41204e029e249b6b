; A number beside references in one root: it is none of them, and may be stored anywhere.
; CHECK: define void @kept(
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 32, !"refs", !{i32 0, i32 16, i32 24}}
declare ptr addrspace(1) @tally_new(ptr)
%S = type {ptr addrspace(1), i64, ptr addrspace(1)}
define void @kept(ptr addrspace(1) %object, ptr addrspace(1) %value) gc "refcount" {
  %s = alloca %S
  store ptr addrspace(1) %value, ptr %s
  %n = call ptr addrspace(1) @tally_new(ptr @Node)
  %g = getelementptr %S, ptr %s, i32 0, i32 1
  %v = load i64, ptr %g
  %h = getelementptr i8, ptr addrspace(1) %object, i64 8
  store i64 %v, ptr addrspace(1) %h
  ret void
}
