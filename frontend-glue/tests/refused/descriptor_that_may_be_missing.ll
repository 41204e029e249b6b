; REFUSED: in @main: @pair: it may be missing in the program, since it is declared extern_weak; declare it external
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@pair = extern_weak constant %tally_type
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
