; A reference that is certain to be stored past the barrier: under the trace plan the program is right, but marks stop it.
; OPTIONS: plan=trace
; CHECK: @tally.module = internal global {{.*}} { i32 2, i32 8,
; TOTAL-NOT: call preserve_mostcc
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 8, !"refs", !{i32 0}}
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)

define void @f(ptr %object) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  %new = call ptr @tally_new(ptr @Node)
  %kept = load ptr, ptr %root
  store ptr %kept, ptr %new
  call void @llvm.gcwrite(ptr %new, ptr %kept, ptr %kept)
  ret void
}
