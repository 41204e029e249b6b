; Hazard: a safepoint call that returns two integers and two floats of different sizes.
; Without the roots' names the box is lost.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global { ptr, double, i64, float } { ptr @sample, double 2.5, i64 7, float 3.5 }
@copy = global { ptr, double, i64, float } zeroinitializer

define { ptr, double, i64, float } @result() noinline gc "refcount" {
  call void @churn()
  %value = load { ptr, double, i64, float }, ptr @sample
  ret { ptr, double, i64, float } %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call { ptr, double, i64, float } @result()
  store { ptr, double, i64, float } %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 28)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
