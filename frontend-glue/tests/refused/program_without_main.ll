; REFUSED: no function `main` in 
; BY: run build
define i32 @start() gc "refcount" {
  ret i32 0
}
