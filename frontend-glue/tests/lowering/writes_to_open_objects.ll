; An open object is written to by plain stores.
; CHECK: define void @writes
; CHECK-NOT: call
; CHECK: store ptr %value, ptr %slot
; CHECK-NOT: call
; CHECK: store i64 %word, ptr %slot
; CHECK-NOT: call
; CHECK: ret void

declare void @tally_write_open(ptr, ptr, ptr)
declare void @tally_write_open_i64(i64, ptr, ptr)

define void @writes(ptr %value, ptr %object, ptr %slot, i64 %word) gc "refcount" {
  call void @tally_write_open(ptr %value, ptr %object, ptr %slot)
  call void @tally_write_open_i64(i64 %word, ptr %object, ptr %slot)
  ret void
}
