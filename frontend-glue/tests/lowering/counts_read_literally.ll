; A function with an indirect branch whose edges would have work to do, or with a call that returns twice, is read literally:
; each store counts. After setjmp a root owns whatever it holds, null included, and is read again whenever it is let go.
; OPTIONS: operations
; CHECK: define void @indirect
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: indirectbr
; CHECK: define i32 @jumps
; CHECK: store ptr null, ptr %r
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: call i32 @setjmp
; CHECK: call ptr asm "", "=r,0"(ptr %r)
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: store ptr %p, ptr %r
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @poke() nounwind

declare i32 @setjmp(ptr) returns_twice nounwind
define void @indirect(ptr %p, ptr %to) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %keep = select i1 true, ptr blockaddress(@indirect, %safepoint), ptr blockaddress(@indirect, %end)
  indirectbr ptr %to, [label %safepoint, label %end]
safepoint:
  call void @poke()
  indirectbr ptr %keep, [label %safepoint, label %end]
end:
  call void @poke()
  ret void
}
define i32 @jumps(ptr %p, ptr %buffer) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %again = call i32 @setjmp(ptr %buffer)
  store ptr %p, ptr %r
  call void @poke()
  ret i32 %again
}
