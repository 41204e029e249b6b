; Hazard: LLVM drops the check of a call with a kcfi bundle once it has one of roots, too.
; REFUSED: in @main: LLVM drops the kcfi check of a safepoint call
declare void @churn()

@function = global ptr @churn

define i32 @main() gc "refcount" {
  %function = load ptr, ptr @function
  call void %function() [ "kcfi"(i32 1234) ]
  ret i32 0
}
