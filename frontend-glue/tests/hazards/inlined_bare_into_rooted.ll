; Hazard: a function without gc is inlined into a rooted one: its calls must then name the caller's roots.
; Without a bundle on its calls to join, the roots are lost.
; WITHOUT empty-bundles at 2: carries no bundle
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @plain() alwaysinline {
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @plain()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
