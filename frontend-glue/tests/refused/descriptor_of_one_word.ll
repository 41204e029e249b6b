; REFUSED: in @main: @pair: a type descriptor has 128 bytes, this constant has 8
@pair = constant i64 16
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
