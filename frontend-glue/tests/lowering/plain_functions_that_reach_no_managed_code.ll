; Plain functions that call only leaves and each other keep their tail calls; others get bundles, since a bare call inlined into
; a rooted function would lose the caller's roots.
; CHECK: define void @ping
; CHECK: tail call void @pong(
; CHECK: define void @pong
; CHECK: tail call void @ping(
; CHECK: tail call i64 @strlen(
; CHECK: define void @unknown
; CHECK: call void @elsewhere() [ "deopt"() ]
; CHECK: define void @by_pointer
; CHECK: call void %function() [ "deopt"() ]
; CHECK: define void @to_managed
; CHECK: call void @managed() [ "deopt"() ]
; CHECK: define void @through_another
; CHECK: call void @to_managed() [ "deopt"() ]
; CHECK: define weak void @replaceable
; CHECK: call void @ping(i64 1) [ "deopt"() ]
; CHECK: define void @to_replaceable
; CHECK: call void @replaceable() [ "deopt"() ]
; CHECK: define void @managed
; CHECK: call void @ping(i64 2) [ "deopt"() ]
declare i64 @strlen(ptr)
declare void @elsewhere()
define void @ping(i64 %left) {
  tail call void @pong(i64 %left)
  ret void
}
define void @pong(i64 %left) {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret void
again:
  tail call void @ping(i64 %left)
  %length = tail call i64 @strlen(ptr null)
  ret void
}
define void @unknown() {
  tail call void @elsewhere()
  ret void
}
define void @by_pointer(ptr %function) {
  tail call void %function()
  ret void
}
define void @to_managed() {
  tail call void @managed()
  ret void
}
define void @through_another() {
  tail call void @to_managed()
  ret void
}
define weak void @replaceable() {
  tail call void @ping(i64 1)
  ret void
}
define void @to_replaceable() {
  tail call void @replaceable()
  ret void
}
define void @managed() gc "refcount" {
  tail call void @ping(i64 2)
  ret void
}
