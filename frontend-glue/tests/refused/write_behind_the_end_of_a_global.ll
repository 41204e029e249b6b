; REFUSED: in @main: gcwrite to @table at offset 32; write to an aligned word inside the variable
; REFUSED: in @main: gcwrite to @table at offset -8
; REFUSED: in @main: gcwrite to @table at offset 12
@table = global [4 x ptr] zeroinitializer
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr @table, ptr getelementptr (ptr, ptr @table, i64 4))
  call void @llvm.gcwrite(ptr null, ptr @table, ptr getelementptr (i8, ptr @table, i64 -8))
  call void @llvm.gcwrite(ptr null, ptr @table, ptr getelementptr ([4 x i32], ptr @table, i64 0, i64 3))
  ret i32 0
}
