; scenario 165
; REFUSED: in @main: gcroot in a function without a gc strategy; add gc "refcount" to the function
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  ret i32 0
}
