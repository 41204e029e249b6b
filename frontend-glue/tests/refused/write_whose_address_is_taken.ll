; REFUSED: in @main: the address of llvm.gcwrite is taken; intrinsics can only be called
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @use(ptr)
define i32 @main() gc "refcount" {
  call void @use(ptr @llvm.gcwrite)
  ret i32 0
}
