; REFUSED: in @main: @pair: it is thread_local, but a type has one descriptor for all threads
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@pair = thread_local constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0,
  ptr null, i64 0, i64 0, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
