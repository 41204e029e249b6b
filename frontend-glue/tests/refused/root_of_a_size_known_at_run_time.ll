; REFUSED: in @main: gcroot of an alloca whose size is not constant; give the alloca a constant size
declare void @llvm.gcroot(ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %r = alloca ptr, i32 %n
  call void @llvm.gcroot(ptr %r, ptr null)
  ret i32 0
}
