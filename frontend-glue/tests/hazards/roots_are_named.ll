; Hazard: none but the first: a call during which objects die. Without the names of the roots in its bundle the box is lost.
; scenario 192.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
