; Hazard: a safepoint call that returns <32 x i1>.
; Without the roots' names the box is lost.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global <32 x i1> <i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1>
@copy = global <32 x i1> zeroinitializer

define <32 x i1> @result() noinline gc "refcount" {
  call void @churn()
  %value = load <32 x i1>, ptr @sample
  ret <32 x i1> %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call <32 x i1> @result()
  store <32 x i1> %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 4)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
