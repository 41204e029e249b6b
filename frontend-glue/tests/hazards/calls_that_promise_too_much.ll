; Hazard: calls that promise to touch no memory, and are safepoints all the same: stores to the roots before them must stay.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call noalias ptr @box(i64 4) memory(inaccessiblemem: readwrite)
  store ptr %b, ptr %r
  call void @churn() nosync nofree memory(none) willreturn nounwind
  call void @churn() memory(argmem: read)
  call void @churn() memory(inaccessiblemem: readwrite)
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 4)
  ret i32 0
}
