; A callee that was given the slot's address may keep it: the root is named at every call.
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @fill(ptr %r) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
declare void @fill(ptr)
define void @f() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @poke()
  call void @fill(ptr %r)
  call void @poke()
  ret void
}
