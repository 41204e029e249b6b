; REFUSED: in @main: gcwrite to a computed slot of @table, which may be more than 65536 words; put the table into an object on the heap
@table = global [65537 x ptr] zeroinitializer
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %s = getelementptr ptr, ptr @table, i32 %n
  call void @llvm.gcwrite(ptr null, ptr %s, ptr %s)
  ret i32 0
}
