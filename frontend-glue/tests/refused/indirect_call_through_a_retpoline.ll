; REFUSED: in @plain: target feature +retpoline-indirect-calls: LLVM makes no safepoint of an indirect call through a thunk; compile without -mretpoline and -mlvi-cfi, or call functions by name
define void @plain(ptr %function) "target-features"="+sse2,+retpoline-indirect-calls" {
  call void %function()
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
