; REFUSED: undefined symbol: nowhere
; BY: run build
declare i32 @nowhere()
define i32 @main() gc "refcount" {
  %x = call i32 @nowhere()
  ret i32 0
}
