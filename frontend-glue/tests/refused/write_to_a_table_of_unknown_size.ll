; REFUSED: in @main: gcwrite to a computed slot of @table, whose type has no pointer there; declare the variable as an array of pointers
@table = external global [0 x ptr]
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %s = getelementptr ptr, ptr @table, i32 %n
  call void @llvm.gcwrite(ptr null, ptr @table, ptr %s)
  ret i32 0
}
