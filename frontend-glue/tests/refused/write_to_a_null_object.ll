; REFUSED: in @main: gcwrite with a null object; name the object that the slot lies in
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr null, ptr %v)
  ret i32 0
}
