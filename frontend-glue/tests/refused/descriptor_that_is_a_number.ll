; REFUSED: in @main: the address 64 in place of a type descriptor
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr inttoptr (i64 64 to ptr))
  ret i32 0
}
