; REFUSED: in @main: gcwrite to the constant @g; make the variable a `global`
@g = constant ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr @g, ptr @g)
  ret i32 0
}
