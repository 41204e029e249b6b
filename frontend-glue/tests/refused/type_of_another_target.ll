; REFUSED: in @image: the type target("spirv.Image"), which has no x86-64 code
; LLVM crashed at level 0.
define target("spirv.Image") @image() gc "refcount" {
  ret target("spirv.Image") poison
}
define i32 @main() gc "refcount" {
  ret i32 0
}
