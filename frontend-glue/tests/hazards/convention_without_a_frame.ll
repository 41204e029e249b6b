; Hazard: ghccc keeps a value of the program in the frame pointer: such a frame ends every walk.
; REFUSED: in @plain: calling convention 10 leaves no frame to walk
declare void @churn()

define ghccc i64 @plain(i64 %x) {
  call void @churn()
  ret i64 %x
}

define i32 @main() gc "refcount" {
  ret i32 0
}
