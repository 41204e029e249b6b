; REFUSED: in @main: @put is given the address of the global @head, and writes references through it, of which no root is made
; The object died, since no root held it.
declare ptr addrspace(1) @tally_new(ptr)
@Node = external constant i8
@head = global ptr addrspace(1) null
define void @put(ptr %place) noinline gc "refcount" {
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  store ptr addrspace(1) %node, ptr %place
  ret void
}
define i32 @main() gc "refcount" {
  call void @put(ptr @head)
  ret i32 0
}
