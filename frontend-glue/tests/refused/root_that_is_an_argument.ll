; scenario 165
; REFUSED: in @main: gcroot of something that is no alloca; keep the reference in an alloca and root that
declare void @llvm.gcroot(ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  call void @llvm.gcroot(ptr %v, ptr null)
  ret i32 0
}
