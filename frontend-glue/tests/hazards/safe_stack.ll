; Hazard: safestack moves the slots to another stack, where frames do not tell their place.
; scenario 177.
; REFUSED: safestack
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() safestack gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
