; REFUSED: in @main: gcroot of something that is no alloca
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  %r = alloca [2 x ptr]
  %s = getelementptr i8, ptr %r, i64 8
  call void @llvm.gcroot(ptr %s, ptr null)
  ret i32 0
}
