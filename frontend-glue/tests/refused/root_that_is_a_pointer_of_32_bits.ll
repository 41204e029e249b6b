; REFUSED: in @main: gcroot of a pointer that is not as wide as a reference
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  %root = alloca ptr addrspace(270)
  call void @llvm.gcroot(ptr %root, ptr null)
  ret i32 0
}
