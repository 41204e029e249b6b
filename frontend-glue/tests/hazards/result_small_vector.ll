; Hazard: a safepoint call that returns <3 x float>.
; Without the roots' names the box is lost.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global <3 x float> <float 1.5, float 2.5, float 3.5>
@copy = global <3 x float> zeroinitializer

define <3 x float> @result() noinline gc "refcount" {
  call void @churn()
  %value = load <3 x float>, ptr @sample
  ret <3 x float> %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call <3 x float> @result()
  store <3 x float> %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 12)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
