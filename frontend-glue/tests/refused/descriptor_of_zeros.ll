; REFUSED: in @main: @pair: type descriptor `(unnamed)`: version is 0, this runtime reads version 1
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@pair = constant %tally_type zeroinitializer
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
