; Hazard: a safepoint call that returns [12 x i64].
; Without a thunk the code generator crashes.
; WITHOUT result-thunks at 0: crash|LLVM gave up
; WITHOUT result-thunks at 2: crash|LLVM gave up
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global [12 x i64] [i64 11, i64 12, i64 13, i64 14, i64 15, i64 16, i64 17, i64 18, i64 19, i64 20, i64 21, i64 22]
@copy = global [12 x i64] zeroinitializer

define [12 x i64] @result() noinline gc "refcount" {
  call void @churn()
  %value = load [12 x i64], ptr @sample
  ret [12 x i64] %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call [12 x i64] @result()
  store [12 x i64] %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 96)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
