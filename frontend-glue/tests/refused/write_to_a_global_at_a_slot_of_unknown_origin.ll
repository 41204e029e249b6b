; REFUSED: in @main: gcwrite to the global @table at a slot that is not seen to lie in it; compute the slot from the variable's own address
@table = global [4 x ptr] zeroinitializer
@cursor = global ptr @table
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  %s = load ptr, ptr @cursor
  call void @llvm.gcwrite(ptr null, ptr @table, ptr %s)
  ret i32 0
}
