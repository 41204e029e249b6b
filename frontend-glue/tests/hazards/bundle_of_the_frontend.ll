; Hazard: a frontend's own "deopt" bundle: the map would hold operands that are no roots.
; REFUSED: the call has a "deopt" bundle already
declare void @churn()

define i32 @main() gc "refcount" {
  call void @churn() [ "deopt"(i64 1) ]
  ret i32 0
}
