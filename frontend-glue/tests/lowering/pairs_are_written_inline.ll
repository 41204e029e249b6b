; A pair is written by two stores behind one barrier.
; CHECK: define void @writes
; CHECK: load i32
; CHECK: call preserve_mostcc void @tally_log_slow(ptr %object, ptr %pair)
; CHECK: store i64 %tag, ptr %pair
; CHECK: getelementptr inbounds i8, ptr %pair, i64 8
; CHECK: store i64 %word
; CHECK-NOT: call void @tally_write_pair

declare void @tally_write_pair(ptr, ptr, i64, i64)
declare ptr @tally_new(ptr)

define void @writes(ptr %object, ptr %pair, i64 %tag, i64 %word) gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %tag, i64 %word)
  ret void
}
