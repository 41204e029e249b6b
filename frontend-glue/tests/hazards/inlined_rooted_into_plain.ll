; Hazard: a rooted function is inlined into one without gc, which then is rooted, and into a third.
; scenario 168.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @inner(i64 %value) alwaysinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @churn()
  call void @expect(ptr %box, i64 %value)
  ret void
}

define void @plain(i64 %value) alwaysinline {
  call void @inner(i64 %value)
  %more = add i64 %value, 1
  call void @inner(i64 %more)
  ret void
}

define i32 @main() {
  call void @plain(i64 7)
  call void @plain(i64 9)
  ret i32 0
}
