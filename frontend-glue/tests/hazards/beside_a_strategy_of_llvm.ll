; Hazard: gc "shadow-stack" beside gc "refcount" in one module: LLVM inlines across functions, and whose roots are whose?
; scenario 169.
; REFUSED: stands beside gc "refcount" in one module
declare void @churn()

define void @other() gc "shadow-stack" {
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
  call void @other()
  ret i32 0
}
