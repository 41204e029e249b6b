; REFUSED: in @main: @file: type descriptor `File`: flags 0x8 say how its objects are finalized, and finalize is null
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"File\00"
@file = private constant %tally_type { i32 1, i32 8, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0,
  ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @file)
  ret i32 0
}
