; REFUSED: in @main: a copy or fill of bytes that are not of a constant number and place over references of the global @table; store its members one by one
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
@table = global [4 x ptr addrspace(1)] zeroinitializer
define i32 @main(i32 %count, ptr %words) gc "refcount" {
  %first = load ptr addrspace(1), ptr @table
  %bytes = zext i32 %count to i64
  call void @llvm.memmove.p0.p0.i64(ptr @table, ptr getelementptr (i8, ptr @table, i64 8), i64 %bytes, i1 false)
  ret i32 0
}
