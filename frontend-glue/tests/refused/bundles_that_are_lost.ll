; Bundles of a frontend's own that LLVM would drop at a safepoint, or make no code of at all: each with its function and advice.
; REFUSED: in @kcfi: LLVM drops the kcfi check of a safepoint call; compile without -fsanitize=kcfi, or mark the call "gc-leaf-function"
; REFUSED: in @guard: LLVM drops the cfguardtarget of a safepoint call
; REFUSED: in @attached: LLVM drops the attached call of a safepoint call; call the function on the result instead
; REFUSED: in @protected: LLVM drops the deactivation symbol of a safepoint call
; REFUSED: in @unknown: the call has a "mine" bundle: LLVM generates no code for a bundle of this name; take the bundle off
; REFUSED: in @unknown_at_a_leaf: the call has a "mine" bundle
; REFUSED: in @unknown_of_an_invoke: the call has a "mine" bundle
; REFUSED: in @transition: the call has a "gc-transition" bundle
; REFUSED: in @live: the call has a "gc-live" bundle
; REFUSED: in @fact: the call has a "align" bundle
; REFUSED: in @signed: the call has a "ptrauth" bundle: this machine has no authenticated calls
; REFUSED: in @preallocated: the call has a "preallocated" bundle: LLVM passes preallocated arguments on 32-bit machines only; pass the argument byval
; REFUSED: in @preallocated: llvm.call.preallocated.setup calls what may reach a safepoint
; REFUSED: in @preallocated: llvm.call.preallocated.arg calls what may reach a safepoint
; REFUSED: in @attached: llvm.objc.retainAutoreleasedReturnValue calls what may reach a safepoint
; REFUSED: in @gone: the call has a "deopt" bundle, and its frame is gone when the callee runs; take the bundle off, or call without musttail
; REFUSED: in @aggregate: an operand of its "deopt" bundle has the type { i64, ptr }, which has no place in a stack map; name its members one by one
; REFUSED: in @aggregate_at_a_leaf: an operand of its "deopt" bundle has the type [2 x i64]
; REFUSED: in @without_gc: the call has a "mine" bundle
declare void @g()
declare ptr @make()
declare ptr @llvm.objc.retainAutoreleasedReturnValue(ptr)
declare token @llvm.call.preallocated.setup(i32)
declare ptr @llvm.call.preallocated.arg(token, i32)
declare void @take(ptr preallocated(i32))
declare i32 @__gcc_personality_v0(...)

define void @kcfi(ptr %f) gc "refcount" {
  call void %f() [ "kcfi"(i32 1) ]
  ret void
}
define void @guard(ptr %f) gc "refcount" {
  call void %f() [ "cfguardtarget"(ptr %f) ]
  ret void
}
define ptr @attached() gc "refcount" {
  %x = call ptr @make() [ "clang.arc.attachedcall"(ptr @llvm.objc.retainAutoreleasedReturnValue) ]
  ret ptr %x
}
define void @protected() gc "refcount" {
  call void @g() [ "deactivation-symbol"(ptr @g) ]
  ret void
}
define void @unknown() gc "refcount" {
  call void @g() [ "mine"(i32 1) ]
  ret void
}
define void @unknown_at_a_leaf() gc "refcount" {
  call void @g() "gc-leaf-function" [ "mine"(i32 1) ]
  ret void
}
define void @unknown_of_an_invoke() gc "refcount" personality ptr @__gcc_personality_v0 {
  invoke void @g() [ "mine"(i32 1) ] to label %done unwind label %thrown
done:
  ret void
thrown:
  %pad = landingpad { ptr, i32 } cleanup
  ret void
}
define void @transition() gc "refcount" {
  call void @g() [ "gc-transition"(i32 0) ]
  ret void
}
define void @live(ptr %p) gc "refcount" {
  call void @g() [ "gc-live"(ptr %p) ]
  ret void
}
define void @fact(ptr %p) gc "refcount" {
  call void @g() [ "align"(ptr %p, i64 8) ]
  ret void
}
define void @signed(ptr %f) gc "refcount" {
  call void %f() [ "ptrauth"(i32 0, i64 1) ]
  ret void
}
define void @preallocated() gc "refcount" {
  %token = call token @llvm.call.preallocated.setup(i32 1)
  %x = call ptr @llvm.call.preallocated.arg(token %token, i32 0) preallocated(i32)
  store i32 7, ptr %x
  call void @take(ptr preallocated(i32) %x) [ "preallocated"(token %token) ]
  ret void
}
define void @gone() gc "refcount" {
  musttail call void @g() [ "deopt"(i64 1) ]
  ret void
}
define void @aggregate({ i64, ptr } %state) gc "refcount" {
  call void @g() [ "deopt"(i64 1, { i64, ptr } %state) ]
  ret void
}
define void @aggregate_at_a_leaf([2 x i64] %state) gc "refcount" {
  call void @g() "gc-leaf-function" [ "deopt"([2 x i64] %state) ]
  ret void
}
define void @without_gc() {
  call void @g() [ "mine"(i32 1) ]
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
