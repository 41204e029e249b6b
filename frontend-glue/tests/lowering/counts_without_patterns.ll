; The plan read literally: a fresh object waits on the pending list from its birth, each store to a root counts, each root lets
; go of what it held. Before a function's roots let go at its end the list is drained, so that they die in their order.
; OPTIONS: patterns=none operations
; CHECK: define void @one
; CHECK: %o = call ptr @tally_new
; CHECK: call void @tally.count.release(ptr %o)
; CHECK: store ptr %o, ptr %r
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: call void (...) @tally.count.finish()
; CHECK-NOT: tally.count.take
; CHECK: define void @tail_of_file
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)

define void @one() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  ret void
}

define void @tail_of_file() nounwind gc "refcount-prompt" {
  ret void
}
