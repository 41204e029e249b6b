; Hazard: gc "mine" beside gc "refcount" in one module: LLVM inlines across functions, and whose roots are whose?
; REFUSED: map it with --gc-name mine=refcount
declare void @churn()

define void @other() gc "mine" {
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
  call void @other()
  ret i32 0
}
