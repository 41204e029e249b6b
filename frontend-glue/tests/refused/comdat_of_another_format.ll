; REFUSED: in @shared: its comdat is of a kind that only other object formats know; use comdat any, or nodeduplicate
; BY: run build
$shared = comdat largest
$own = comdat nodeduplicate
@word = global i64 0
define linkonce_odr void @shared() noinline comdat gc "refcount" {
  store volatile i64 1, ptr @word
  ret void
}
define void @own() comdat {
  ret void
}
define i32 @main() gc "refcount" {
  call void @shared()
  ret i32 0
}
