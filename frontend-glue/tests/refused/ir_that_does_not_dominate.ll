; scenario 198
; REFUSED: in @main: not valid LLVM IR: Instruction does not dominate all uses
define i32 @main() gc "refcount" {
  %x = add i32 %y, 1
  %y = add i32 1, 1
  ret i32 0
}
