; scenario 165
; REFUSED: in @main: gcroot of something that is no alloca
@g = global ptr null
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  call void @llvm.gcroot(ptr @g, ptr null)
  ret i32 0
}
