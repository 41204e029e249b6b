; REFUSED: in @main: attribute naked moves root slots to a frame that does not exist
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() naked gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  ret i32 0
}
