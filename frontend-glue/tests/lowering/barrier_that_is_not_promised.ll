; One function that promises nothing, and the module writes plainly: its record has 8 for the trace plan alone.
; OPTIONS: plan=trace
; CHECK: @tally.module = internal global {{.*}} { i32 3, i32 8,
; TOTAL-NOT: call preserve_mostcc
declare void @llvm.gcwrite(ptr, ptr, ptr)

define void @promises(ptr %object, ptr %value) gc "refcount" {
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %object)
  ret void
}
define void @stores(ptr %object, ptr %value) gc "trace" {
  store ptr %value, ptr %object
  ret void
}
