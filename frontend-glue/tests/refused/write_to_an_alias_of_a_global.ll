; REFUSED: in @main: gcwrite to the alias @list; name the variable that it stands for
; The write went to an object that is none, and the program ended by SIGSEGV.
@variable = global ptr null
@list = alias ptr, ptr @variable
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr @list, ptr @list)
  ret i32 0
}
