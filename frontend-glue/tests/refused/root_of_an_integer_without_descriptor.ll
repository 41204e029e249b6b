; scenario 164
; REFUSED: in @main: gcroot of an integer without a descriptor; pass a type descriptor as second argument
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  %r = alloca i64
  call void @llvm.gcroot(ptr %r, ptr null)
  ret i32 0
}
