; scenario 166
; REFUSED: in @main: gcread in a function without a gc strategy
declare ptr @llvm.gcread(ptr, ptr)
define i32 @main(i32 %n, ptr %v) {
  %x = call ptr @llvm.gcread(ptr %v, ptr %v)
  ret i32 0
}
