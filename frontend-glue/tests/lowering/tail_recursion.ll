; Bundles cost a function its tail calls, so recursion is turned into a loop first.
; OPTIONS: tail-calls
; CHECK: define i32 @count
; CHECK: tailrecurse:
; CHECK: store ptr null, ptr %r
; CHECK-NOT: call i32 @count
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
define i32 @count(i32 %n, ptr %p) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %done, label %more
more:
  call void @poke()
  %o = load ptr, ptr %r
  %less = sub i32 %n, 1
  %x = call i32 @count(i32 %less, ptr %o)
  ret i32 %x
done:
  ret i32 0
}
