; REFUSED: in @patched: llvm.experimental.patchpoint.void calls what may reach a safepoint, and carries no roots; call the function, or keep the patch point in a function without a gc strategy
; REFUSED: in @state: llvm.experimental.gc.statepoint.p0 calls what may reach a safepoint
; REFUSED: in @guarded: llvm.experimental.guard calls what may reach a safepoint
; REFUSED: in @left: llvm.experimental.deoptimize.i32 calls what may reach a safepoint
; REFUSED: in @resumed: llvm.coro.resume calls what may reach a safepoint
; REFUSED: in @prepared: llvm.call.preallocated.setup calls what may reach a safepoint
; REFUSED: in @prepared: llvm.call.preallocated.arg calls what may reach a safepoint
; REFUSED: in @prepared: the call has a "preallocated" bundle
declare void @native()
declare void @llvm.experimental.patchpoint.void(i64, i32, ptr, i32, ...)
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare void @llvm.experimental.guard(i1, ...)
declare i32 @llvm.experimental.deoptimize.i32(...)
declare void @llvm.coro.resume(ptr)
declare token @llvm.call.preallocated.setup(i32)
declare ptr @llvm.call.preallocated.arg(token, i32)
define void @patched() gc "refcount" {
  call void (i64, i32, ptr, i32, ...) @llvm.experimental.patchpoint.void(i64 1, i32 20, ptr @native, i32 0)
  ret void
}
define void @state() gc "refcount" {
  %token = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, ptr elementtype(void ()) @native, i32 0, i32 0, i32 0, i32 0)
  ret void
}
define void @guarded(i1 %right) gc "refcount" {
  call void (i1, ...) @llvm.experimental.guard(i1 %right) [ "deopt"() ]
  ret void
}
define i32 @left() gc "refcount" {
  %result = call i32 (...) @llvm.experimental.deoptimize.i32() [ "deopt"() ]
  ret i32 %result
}
define void @resumed(ptr %coroutine) gc "refcount" {
  call void @llvm.coro.resume(ptr %coroutine)
  ret void
}
define void @take(ptr preallocated(i64) %word) {
  ret void
}
define void @prepared() gc "refcount" {
  %token = call token @llvm.call.preallocated.setup(i32 1)
  %word = call ptr @llvm.call.preallocated.arg(token %token, i32 0) preallocated(i64)
  call void @take(ptr preallocated(i64) %word) [ "preallocated"(token %token) ]
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
