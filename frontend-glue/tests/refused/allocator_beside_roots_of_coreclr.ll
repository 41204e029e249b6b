; REFUSED: in @main: @llvm_gc_allocate allocates on Tally's heap, but Tally cannot read roots of gc "coreclr" in @main; put statepoints in by opt -passes=rewrite-statepoints-for-gc, or give its functions gc "refcount": --gc-name coreclr=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
define i32 @main() gc "coreclr" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  ret i32 0
}
