; REFUSED: in @main: gcwrite to the alias @list; name the variable that it stands for
declare ptr addrspace(1) @tally_new(ptr)
@Node = external constant i8
@variable = global ptr addrspace(1) null
@list = alias ptr, ptr @variable
define i32 @main() gc "refcount" {
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  store ptr addrspace(1) %node, ptr @list
  ret i32 0
}
