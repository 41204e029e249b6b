; REFUSED: in @main: gcwrite to the variable @list, which may be missing from the program; define the variable in the program
; Its address is null where no module defines it, and the program ended at its start.
@list = extern_weak global ptr
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main() gc "refcount" {
  %missing = icmp eq ptr @list, null
  br i1 %missing, label %end, label %write
write:
  call void @llvm.gcwrite(ptr null, ptr @list, ptr @list)
  br label %end
end:
  ret i32 0
}
