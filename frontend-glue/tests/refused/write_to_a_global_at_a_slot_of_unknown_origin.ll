; REFUSED: in @main: gcwrite to a global at a slot that is not constant; global roots are registered when the module loads
@table = global [4 x ptr] zeroinitializer
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %s = getelementptr ptr, ptr @table, i32 %n
  call void @llvm.gcwrite(ptr null, ptr @table, ptr %s)
  ret i32 0
}
