; REFUSED: in @main: gcroot of an alloca whose size is not constant; give the alloca a constant size
declare void @llvm.gcroot(ptr, ptr)
@words = external constant i8
define i32 @main() gc "refcount" {
  %root = alloca <vscale x 2 x ptr>
  call void @llvm.gcroot(ptr %root, ptr @words)
  ret i32 0
}
