; Hazard: a safepoint call that returns three double.
; Without a thunk the code generator crashes.
; WITHOUT result-thunks at 0: crash|LLVM gave up
; WITHOUT result-thunks at 2: crash|LLVM gave up
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global { double, double, double } { double 1.5, double 2.5, double 3.5 }
@copy = global { double, double, double } zeroinitializer

define { double, double, double } @result() noinline gc "refcount" {
  call void @churn()
  %value = load { double, double, double }, ptr @sample
  ret { double, double, double } %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call { double, double, double } @result()
  store { double, double, double } %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 24)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
