; Hazard: a function with a swiftasync parameter sets a bit in the frame pointer that it saves; a walk then reads far away.
; REFUSED: in @task: a swiftasync parameter marks the frame pointer
define swifttailcc void @task(ptr swiftasync %context) gc "refcount" {
  call void @churn()
  ret void
}
declare void @churn()

define i32 @main() gc "refcount" {
  call swifttailcc void @task(ptr swiftasync null)
  ret i32 0
}
