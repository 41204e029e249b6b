; REFUSED: in @put: gcwrite through a pointer that may be the address of the global
declare ptr addrspace(1) @tally_new(ptr)
@Node = external constant i8
@one = global ptr addrspace(1) null
@other = global ptr addrspace(1) null
define void @put(i1 %which) gc "refcount" {
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  %slot = select i1 %which, ptr @one, ptr @other
  store ptr addrspace(1) %node, ptr %slot
  ret void
}
define i32 @main() gc "refcount" {
  call void @put(i1 true)
  ret i32 0
}
