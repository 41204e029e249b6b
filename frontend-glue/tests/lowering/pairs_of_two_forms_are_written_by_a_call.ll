; A module whose types have pairs of two forms does not know which one a write means: each is a call.
; OPTIONS: plan=refcount-prompt
; CHECK: define void @write
; CHECK-NEXT: call void @tally_write_pair
; CHECK-NEXT: ret void
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@refs_behind = private constant [1 x i32] [i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 5, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@word = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@other = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 4, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs_behind, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @tally_write_pair(ptr, ptr, i64, i64)

define void @write(ptr %object, ptr %pair, i64 %word, i64 %tag) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %word, i64 %tag)
  ret void
}
define ptr @make() nounwind gc "refcount" {
  %pair = call ptr @tally_new(ptr @pair)
  %other = call ptr @tally_new(ptr @other)
  ret ptr %other
}
