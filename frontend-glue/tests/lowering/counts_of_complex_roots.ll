; Roots of many words, of tagged words, and those whose address was passed on are settled at each safepoint; what they counted
; is let go at the end. While others may write to a root by its address the frame says so.
; OPTIONS: operations
; CHECK: define void @array
; CHECK: %tally.counted.all = alloca
; CHECK-NOT: tally.count.lend
; CHECK: call void @tally.count.settle(i32 0)
; CHECK-NOT: call void (...) @tally.count.drain()
; CHECK: call void @poke
; CHECK: call void @tally.count.unsettle(i32 0)
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @escaping
; CHECK: call void @tally.count.lend()
; CHECK-NOT: tally.count.settle
; CHECK: call void @show(ptr %r)
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK: call void @tally.count.unsettle(i32 0)
; CHECK: call void @tally.count.unlend()
; CHECK: ret void
; CHECK: define void @into_memory(ptr sret
; CHECK-NOT: tally.count.finish
; CHECK: ret void
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind
declare void @show(ptr) nounwind

@three = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
define void @array(ptr %p) nounwind gc "refcount-prompt" {
  %all = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %all, ptr @three)
  %second = getelementptr ptr, ptr %all, i64 1
  store ptr %p, ptr %second
  call void @poke()
  ret void
}
define void @escaping() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @show(ptr %r)
  call void @poke()
  ret void
}
define void @into_memory(ptr sret([1 x ptr]) %out) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %out
  ret void
}
