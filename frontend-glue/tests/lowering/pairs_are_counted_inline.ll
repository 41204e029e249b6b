; Prompt plan: a pair is written inline if the object's type reads pairs as the module's own types do, tagged words or not beside them;
; the call remains for others, and for a global.
; OPTIONS: plan=refcount-prompt
; TOTAL-COUNT-2: call void @tally_write_pair
; CHECK: define void @write(
; CHECK: getelementptr i8, ptr %object, i64 -4
; CHECK: and i32 {{.*}}, 8388607
; CHECK: load i64, ptr {{.*}}, !invariant.load
; CHECK: icmp eq i64
; CHECK: call void @tally_write_pair
; CHECK: load i64, ptr %pair
; CHECK: and i64 {{.*}}, 64
; CHECK: icmp eq i64 {{.*}}, 64
; CHECK: and i64 {{.*}}, -1099511627776
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: add i8 {{.*}}, 1
; CHECK: call preserve_mostcc void @tally_count_full
; CHECK: store i64 {{.*}}, ptr %pair
; CHECK: store i64
; CHECK: and i64 {{.*}}, 64
; CHECK: add i8 {{.*}}, -1
; CHECK: call preserve_mostcc void @tally_count_low
; CHECK: define void @write_to_a_global(
; CHECK-NEXT: call void @tally_write_pair
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@refs_behind = private constant [1 x i32] [i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 5, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@word = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@somewhere = global [2 x i64] zeroinitializer
declare ptr @tally_new(ptr)
declare void @tally_write_pair(ptr, ptr, i64, i64)

define void @write(ptr %object, ptr %pair, i64 %word, i64 %tag) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %word, i64 %tag)
  ret void
}
define void @write_to_a_global(i64 %word, i64 %tag) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_write_pair(ptr @somewhere, ptr @somewhere, i64 %word, i64 %tag)
  ret void
}
define ptr @make() nounwind gc "refcount" {
  %pair = call ptr @tally_new(ptr @pair)
  %word = call ptr @tally_new(ptr @word)
  ret ptr %word
}
