; REFUSED: in @main: @file: type descriptor `File`: finalize is set; only the prompt plan (gc "refcount-prompt") runs finalizers
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"File\00"
@file = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0,
  ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
define void @close(ptr %file) {
  ret void
}
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @file)
  ret i32 0
}
