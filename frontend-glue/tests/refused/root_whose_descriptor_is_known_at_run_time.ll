; scenario 165
; REFUSED: in @main: the second argument of gcroot is no constant
declare void @llvm.gcroot(ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr %v)
  ret i32 0
}
