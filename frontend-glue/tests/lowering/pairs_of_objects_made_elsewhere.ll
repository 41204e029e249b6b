; Prompt plan: a module that makes no object with pairs, and has no such root, reads them as the types do that it describes.
; OPTIONS: plan=refcount-prompt
; CHECK: define void @write(
; CHECK: load i64, ptr {{.*}}, !invariant.load
; CHECK: call preserve_mostcc void @tally_count_low
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@pair = internal constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 5, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @tally_write_pair(ptr, ptr, i64, i64)

define void @write(ptr %object, ptr %pair, i64 %word, i64 %tag) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_write_pair(ptr %object, ptr %pair, i64 %word, i64 %tag)
  ret void
}
