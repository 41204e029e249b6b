; REFUSED: in @main: gcwrite through a pointer that may be the address of the global @one; name the variable in the write itself
; REFUSED: in @chosen: gcwrite through a pointer that may be the address of the global @other; name the variable in the write itself
@one = global ptr null
@other = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @chosen(i1 %c) gc "refcount" {
  %p = select i1 %c, ptr @one, ptr @other
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  ret void
}
define i32 @main() gc "refcount" {
  %p = alloca ptr
  store ptr @one, ptr %p
  %object = load ptr, ptr %p
  %slot = load ptr, ptr %p
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %slot)
  ret i32 0
}
