; REFUSED: in @shared: its comdat is of a kind that only other object formats know; use comdat any, or nodeduplicate
; BY: run build
$shared = comdat largest
$own = comdat nodeduplicate
define linkonce_odr void @shared() comdat gc "refcount" {
  ret void
}
define void @own() comdat {
  ret void
}
define i32 @main() gc "refcount" {
  call void @shared()
  ret i32 0
}
