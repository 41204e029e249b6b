; scenario 199
; REFUSED: this is IR for an LLVM before 3.7
define i32 @main(i32 %n, i32* %p) gc "refcount" {
  %x = load i32* %p
  ret i32 0
}
