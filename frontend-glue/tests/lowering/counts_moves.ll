; scenario 130
; Pattern "moves": the count that a fresh object came with goes to the first that wants one.
; A second one has to be counted, and what is not wanted is let go at the next safepoint.
; OPTIONS: operations
; CHECK: define void @to_a_root
; CHECK: call void @tally.count.spend(ptr %o)
; CHECK: call void @tally.count.take(ptr %o, i32 0)
; CHECK-NOT: tally.count.own
; CHECK: define void @to_a_field
; CHECK: call void @tally.count.spend(ptr %o)
; CHECK-NOT: tally.count.increment
; CHECK: define void @to_two_fields
; CHECK: call void @tally.count.spend(ptr %o)
; CHECK: @llvm.gcwrite
; CHECK: call void @tally.count.increment(ptr %o)
; CHECK: @llvm.gcwrite
; CHECK: define void @to_nobody
; CHECK: call void @tally.count.release(ptr %o)
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke
; CHECK: define internal ptr @to_the_caller.owned
; CHECK: call void @tally.count.spend(ptr %o)
; CHECK: call void @tally.count.result(ptr %o)
; CHECK-NOT: tally.count.finish
; CHECK: define void @tail_of_file
; REMARK-DAG: in @to_a_root: remark: no count: the value's own count moves to root `r`
; REMARK-DAG: in @to_a_field: remark: no count: the value's own count moves along
; REMARK-DAG: in @to_two_fields: remark: no count: the value's own count moves along
; REMARK-DAG: in @to_the_caller.owned: remark: no count: the value's own count moves along
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

define void @to_a_root() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  call void @poke()
  ret void
}
define void @to_a_field(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  ret void
}
define void @to_two_fields(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  %second = getelementptr i8, ptr %p, i64 8
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %second)
  ret void
}
define void @to_nobody() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  call void @poke()
  ret void
}
define ptr @to_the_caller() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}

define void @tail_of_file() nounwind gc "refcount-prompt" {
  ret void
}
