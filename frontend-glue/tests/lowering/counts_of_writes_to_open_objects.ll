; Under the prompt plan a write to an open object is counted.
; OPTIONS: plan=refcount-prompt
; CHECK: define void @writes
; CHECK: add i8 {{.*}}, 1
; CHECK: store ptr %value, ptr %slot
; CHECK-NOT: call void @tally_write_open

declare void @tally_write_open(ptr, ptr, ptr)

define void @writes(ptr %value, ptr %object, ptr %slot) gc "refcount" {
  call void @tally_write_open(ptr %value, ptr %object, ptr %slot)
  ret void
}
