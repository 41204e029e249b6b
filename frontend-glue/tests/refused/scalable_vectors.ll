; REFUSED: in @offset: the type <vscale x 2 x i64>, which has no x86-64 code; compile for x86-64
; REFUSED: in @passed: the type <vscale x 2 x ptr>, which has no x86-64 code
; The verifier ended in a fatal error of LLVM's when it asked for the size.
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @offset(ptr %object) gc "refcount" {
  %slot = getelementptr <vscale x 2 x i64>, ptr %object, i64 1
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %slot)
  ret void
}
define <vscale x 2 x ptr> @passed(<vscale x 2 x ptr> %vector) {
  ret <vscale x 2 x ptr> %vector
}
define i32 @main() gc "refcount" {
  ret i32 0
}
