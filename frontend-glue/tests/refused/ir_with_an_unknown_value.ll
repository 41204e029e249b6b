; REFUSED: .ll:3:16: error: use of undefined value '%nothing'
define i32 @main() gc "refcount" {
  %x = add i32 %nothing, 1
  ret i32 0
}
