; REFUSED: in @main: gcwrite is called as void (i64, ptr, ptr); declare and call it as void (ptr, ptr, ptr)
@g = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  call void @llvm.gcwrite(i64 5, ptr @g, ptr @g)
  ret i32 0
}
