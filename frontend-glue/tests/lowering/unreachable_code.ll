; scenario 193
; Code that cannot be reached is lowered like any other: nothing may be left of the intrinsics.
; CHECK: nowhere:
; CHECK: call void @poke() [ "deopt"() ]
; CHECK: store ptr null, ptr %p
; CHECK-NOT: llvm.gc
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @poke()
define void @f(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  ret void
nowhere:
  call void @poke()
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  br label %nowhere
}
