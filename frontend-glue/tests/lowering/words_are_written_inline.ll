; Prompt plan: a tagged word is written inline if the object's type reads words as the module's own types do; the call remains for others.
; OPTIONS: plan=refcount-prompt
; TOTAL-COUNT-1: call void @tally_gcwrite_i64
; CHECK: define void @write
; CHECK: getelementptr i8, ptr %object, i64 -4
; CHECK: and i32 {{.*}}, 8388607
; CHECK: load i64, ptr {{.*}}, !invariant.load
; CHECK: icmp eq i64
; CHECK: call void @tally_gcwrite_i64
; CHECK: load i64, ptr %slot
; CHECK: and i64 {{.*}}, -1099511627769
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: and i64 {{.*}}, -8
; CHECK: add i8 {{.*}}, 1
; CHECK: call preserve_mostcc void @tally_count_full
; CHECK: store i64 {{.*}}, ptr %slot
; CHECK: and i64 {{.*}}, -1099511627769
; CHECK: add i8 {{.*}}, -1
; CHECK: call preserve_mostcc void @tally_count_low
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@low = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@plain = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)

define void @write(i64 %word, ptr %object, ptr %slot) nounwind gc "refcount" {
  call void @tally_gcwrite_i64(i64 %word, ptr %object, ptr %slot)
  ret void
}
define ptr @make() nounwind gc "refcount" {
  %plain = call ptr @tally_new(ptr @plain)
  %low = call ptr @tally_new(ptr @low)
  ret ptr %low
}
