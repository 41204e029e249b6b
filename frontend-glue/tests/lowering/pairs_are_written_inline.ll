; A pair is written by two stores behind one barrier, which fresh objects and repeated writes do not need.
; CHECK: define void @writes
; CHECK: load i32
; CHECK: call preserve_mostcc void @tally_log_slow(ptr %object, ptr %pair)
; CHECK: store i64 %tag, ptr %pair
; CHECK: getelementptr inbounds i8, ptr %pair, i64 8
; CHECK: store i64 %word
; CHECK: define ptr @to_a_fresh_object
; CHECK-NOT: tally_log_slow
; CHECK: store i64 %word
; CHECK: define void @after_another
; CHECK: call preserve_mostcc void @tally_log_slow(ptr %object, ptr %object)
; CHECK-NOT: tally_log_slow
; CHECK: define void @after_a_write_of_a_word
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK-NOT: tally_log_slow
; CHECK: define void @half_in_another_chunk
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define void @after_a_safepoint
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK-NOT: call void @tally_write_pair
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@box = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 5, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @tally_write_pair(ptr, ptr, i64, i64)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke()

define void @writes(ptr %object, ptr %pair, i64 %tag, i64 %word) gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %tag, i64 %word)
  ret void
}
define ptr @to_a_fresh_object(i64 %tag, i64 %word) gc "refcount" {
  %object = call ptr @tally_new(ptr @box)
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  ret ptr %object
}
define void @after_another(ptr %object, i64 %tag, i64 %word) gc "refcount" {
  %other = getelementptr i8, ptr %object, i64 16
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  call void @tally_write_pair(ptr %object, ptr %other, i64 %word, i64 %tag)
  ret void
}
define void @after_a_write_of_a_word(ptr %object, ptr %value, i64 %tag, i64 %word) gc "refcount" {
  %pair = getelementptr i8, ptr %object, i64 8
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %object)
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %word, i64 %tag)
  ret void
}
define void @half_in_another_chunk(ptr %object, i64 %tag, i64 %word) gc "refcount" {
  %pair = getelementptr i8, ptr %object, i64 248
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %word, i64 %tag)
  ret void
}
define void @after_a_safepoint(ptr %object, i64 %tag, i64 %word) gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  call void @poke()
  call void @tally_write_pair(ptr %object, ptr %object, i64 %word, i64 %tag)
  ret void
}
