; Hazard: a function that ends in a guaranteed tail call is inlined into a rooted one, and the call, bare as it must be, becomes
; an ordinary call without the roots' names.
; WITHOUT tail-calls-out-of-line at 2: carries no bundle
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @step(i64 %value) alwaysinline gc "refcount" {
  musttail call void @stop(i64 %value)
  ret void
}

define void @stop(i64 %value) noinline gc "refcount" {
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @step(i64 1)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
