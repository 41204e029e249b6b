; Under the trace plan functions that say `refcount`, and those that promise it, write by the barrier of the deferred plan, and the
; record of the module says so (64, beside 8 for the plan). Fresh objects need none.
; OPTIONS: plan=trace
; CHECK: @tally.module = internal global {{.*}} { i32 3, i32 72,
; CHECK: define void @old_object
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define void @promised
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define void @new_object
; CHECK-NOT: call preserve_mostcc
; TOTAL-COUNT-2: call preserve_mostcc
; TOTAL-NOT: call preserve_mostcc
; TOTAL-NOT: call void @tally_safepoint
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 8, !"refs", !{i32 0}}
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)

define void @old_object(ptr %object, ptr %value) gc "refcount" {
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %object)
  ret void
}
define void @promised(ptr %object, ptr %value) "tally-barriers" gc "trace" {
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %object)
  ret void
}
define void @new_object(ptr %unused) gc "refcount" {
  %object = call ptr @tally_new(ptr @Node)
  call void @llvm.gcwrite(ptr %object, ptr %object, ptr %object)
  ret void
}
