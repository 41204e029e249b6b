; FOUND-LOWERED-DAG: in @f: llvm.gcwrite was not lowered
; FOUND-LOWERED-DAG: in @f: gc "refcount" was not lowered
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @f(ptr %o) gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  ret void
}
