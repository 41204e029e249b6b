; scenario 185
; Leaves, intrinsics, inline asm, and calls that return twice carry no bundle.
; TOTAL-COUNT-1: [ "deopt"
; TOTAL-NOT: [ "deopt"
; CHECK: call void @leaf()
; CHECK: call void @g()
; CHECK: call void asm sideeffect "nop", ""()
; CHECK: call i32 @setjmp(ptr %buffer)
; CHECK: call void @tally_copy_refs(ptr %p, ptr %p, ptr %p, i64 2)
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @leaf() "gc-leaf-function"
declare void @g()
declare void @poke()
declare i32 @setjmp(ptr) returns_twice
declare void @tally_copy_refs(ptr, ptr, ptr, i64)
define void @f(ptr %p, ptr %buffer) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @leaf()
  call void @g() "gc-leaf-function"
  call void asm sideeffect "nop", ""()
  %x = call i32 @setjmp(ptr %buffer)
  call void @tally_copy_refs(ptr %p, ptr %p, ptr %p, i64 2)
  call void @poke()
  ret void
}
