; REFUSED: in @main: atomic store to a root slot
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store atomic ptr null, ptr %r release, align 8
  ret i32 0
}
