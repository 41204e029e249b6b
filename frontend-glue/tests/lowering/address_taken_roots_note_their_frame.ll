; A function that passes the address of a root on notes its frame: a flip visits all frames down to the oldest of such at once. The
; root's id is odd then. One that keeps its roots to itself notes nothing; after setjmp the runtime is told that it has returned.
; CHECK: define void @lends()
; CHECK: call ptr @llvm.frameaddress.p0(i32 0)
; CHECK: getelementptr inbounds i8, ptr {{.*}}, i64 120
; CHECK: call i64 @llvm.umax.i64
; CHECK: store i64
; CHECK: call void @fill(ptr %r)
; CHECK-NOT: frameaddress
; CHECK: define void @keeps()
; CHECK-NOT: umax
; CHECK: call i32 @_setjmp(ptr %buffer)
; CHECK: call void @tally_landed()
; TOTAL-COUNT-1: call i64 @llvm.umax.i64(
; TOTAL-NOT: call i64 @llvm.umax.i64(
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
declare void @fill(ptr)
declare i32 @_setjmp(ptr) returns_twice
define void @lends() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @fill(ptr %r)
  ret void
}
define void @keeps() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @poke()
  %kept = load ptr, ptr %r
  call void @poke()
  ret void
}
define i32 @comes_back(ptr %buffer) gc "refcount" {
  %again = call i32 @_setjmp(ptr %buffer)
  ret i32 %again
}
