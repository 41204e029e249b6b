; Hazard: LLVM crashes at frames that are probed at distances of nothing, and calls a function of the name inline-asm where probes
; are forbidden. With retpolines, a call of a function by name stays a safepoint.
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
define void @none(i64 %value) noinline "stack-probe-size"="0" "target-features"="+retpoline" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [40000 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @one(i64 %value) noinline "stack-probe-size"="1" "probe-stack"="inline-asm" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [40000 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @forbidden(i64 %value) noinline "no-stack-arg-probe" "stack-probe-size"="many" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [40000 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define i32 @main() gc "refcount" {
  call void @none(i64 1)
  call void @one(i64 2)
  call void @forbidden(i64 3)
  ret i32 0
}
