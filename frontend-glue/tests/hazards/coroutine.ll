; Hazard: CoroSplit moves the slots of a coroutine into memory that no frame holds.
; scenario 113.
; REFUSED: in @task: attribute presplitcoroutine moves root slots to the coroutine's frame
declare void @llvm.gcroot(ptr, ptr)
declare void @churn()

define void @task() presplitcoroutine gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
  ret i32 0
}
