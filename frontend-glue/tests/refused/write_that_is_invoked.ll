; REFUSED: in @main: gcwrite is invoked; call it: it never unwinds
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare i32 @personality(...)
define i32 @main(i32 %n, ptr %v) gc "refcount" personality ptr @personality {
  invoke void @llvm.gcwrite(ptr %v, ptr %v, ptr %v) to label %next unwind label %bad
bad:
  %x = landingpad { ptr, i32 } cleanup
  ret i32 1
next:
  ret i32 0
}
