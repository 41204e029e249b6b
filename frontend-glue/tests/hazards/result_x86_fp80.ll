; Hazard: a safepoint call that returns an x86_fp80.
; Without a thunk a second `call 0` is emitted.
; WITHOUT result-thunks at 0: signal
; WITHOUT result-thunks at 2: signal
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global x86_fp80 0xK4000C000000000000000
@copy = global x86_fp80 zeroinitializer

define x86_fp80 @result() noinline gc "refcount" {
  call void @churn()
  %value = load x86_fp80, ptr @sample
  ret x86_fp80 %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call x86_fp80 @result()
  store x86_fp80 %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 10)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
