; The off switch: every root at every call.
; OPTIONS: all-roots
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %a, i64 {{-?[0-9]+}}, ptr %b) ]
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %a, i64 {{-?[0-9]+}}, ptr %b) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()

define void @f(ptr %p) gc "refcount" {
  call void @poke()
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  call void @poke()
  ret void
}
