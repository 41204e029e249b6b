; Hazard: a safepoint call that returns four i64.
; Without a thunk the code generator crashes.
; WITHOUT result-thunks at 0: crash|LLVM gave up
; WITHOUT result-thunks at 2: crash|LLVM gave up
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global { i64, i64, i64, i64 } { i64 11, i64 12, i64 13, i64 14 }
@copy = global { i64, i64, i64, i64 } zeroinitializer

define { i64, i64, i64, i64 } @result() noinline gc "refcount" {
  call void @churn()
  %value = load { i64, i64, i64, i64 }, ptr @sample
  ret { i64, i64, i64, i64 } %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call { i64, i64, i64, i64 } @result()
  store { i64, i64, i64, i64 } %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 32)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
