; Hazard: a safepoint call that returns <32 x float>.
; Without a thunk a second `call 0` is emitted.
; WITHOUT result-thunks at 0: signal
; WITHOUT result-thunks at 2: signal
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global <32 x float> <float 0.5, float 1.5, float 2.5, float 3.5, float 4.5, float 5.5, float 6.5, float 7.5, float 8.5, float 9.5, float 10.5, float 11.5, float 12.5, float 13.5, float 14.5, float 15.5, float 16.5, float 17.5, float 18.5, float 19.5, float 20.5, float 21.5, float 22.5, float 23.5, float 24.5, float 25.5, float 26.5, float 27.5, float 28.5, float 29.5, float 30.5, float 31.5>
@copy = global <32 x float> zeroinitializer

define <32 x float> @result() noinline gc "refcount" {
  call void @churn()
  %value = load <32 x float>, ptr @sample
  ret <32 x float> %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call <32 x float> @result()
  store <32 x float> %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 128)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
