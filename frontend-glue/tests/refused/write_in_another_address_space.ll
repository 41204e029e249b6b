; REFUSED: llvm.gcwrite is declared as void (ptr addrspace(1), ptr addrspace(1), ptr addrspace(1)); declare and call it as
declare void @llvm.gcwrite(ptr addrspace(1), ptr addrspace(1), ptr addrspace(1))
define i32 @main() gc "refcount" {
  ret i32 0
}
