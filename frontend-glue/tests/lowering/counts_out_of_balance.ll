; What the checker of counts says of operations written by hand, each function with one thing wrong.
; IMBALANCE-DAG: root `r` has no count for its object at this safepoint
; IMBALANCE-DAG: a temporary's count is forgotten at this safepoint
; IMBALANCE-DAG: a temporary still has its count when the frame goes away
; IMBALANCE-DAG: the reference written here has not been counted
; IMBALANCE-DAG: a count is left over that no write, root or result takes
; IMBALANCE-DAG: there is no credit for this value
; IMBALANCE-DAG: the value has no count of its own here
; IMBALANCE-DAG: a count fell since the last drain: dead objects wait beyond this safepoint
; IMBALANCE-DAG: a count fell since the last drain: dead objects outlive the function
; IMBALANCE-DAG: root `r` is overwritten while it owns its object
; IMBALANCE-DAG: root `r` still owns its object when the frame goes away
; IMBALANCE-DAG: root `r` borrows its object here
; IMBALANCE-DAG: root `r` owns its object here already
; IMBALANCE-DAG: there is no such root
; IMBALANCE-DAG: root `all` is not settled at this safepoint
; IMBALANCE-DAG: root `all` still counts its old object when the frame goes away
; IMBALANCE-DAG: root 0 owns its object on one path to this place and borrows it on another
; IMBALANCE-DAG: a temporary has a count on one path to this place and none on another
; IMBALANCE-DAG: 0 credits go along an edge into phis that take 1
; IMBALANCE-DAG: the result comes without the count that callers expect
; IMBALANCE-DAG: a count fell since the last drain
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@global = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

declare void @tally.count.own(ptr, i32)
declare void @tally.count.take(ptr, i32)
declare void @tally.count.drop(ptr, i32)
declare void @tally.count.give(ptr, i32)
declare void @tally.count.spend(ptr)
declare void @tally.count.increment(ptr)
declare void @tally.count.release(ptr)
declare void @tally.count.pass(ptr)
declare void @tally.count.join(ptr)
declare void @tally.count.result(ptr)
declare void @tally.count.drain(...)
declare void @tally.count.finish(...)
declare void @tally.count.settle(i32)
declare void @tally.count.unsettle(i32)
define void @right(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  call void @poke()
  call void @tally.count.drop(ptr %p, i32 0)
  call void (...) @tally.count.finish()
  ret void
}
define void @root_without_a_count(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  ret void
}
define void @forgotten_temporary(ptr %p) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  call void @poke()
  ret void
}
define void @temporary_at_the_end(ptr %p) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret void
}
define void @uncounted_write(ptr %p) nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr %p, ptr @global, ptr @global)
  call void (...) @tally.count.finish()
  ret void
}
define void @credit_that_nobody_takes(ptr %p) nounwind gc "refcount-prompt" {
  call void @tally.count.increment(ptr %p)
  ret void
}
define void @credit_for_another(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  call void @tally.count.spend(ptr %o)
  store ptr %p, ptr %r
  call void @tally.count.take(ptr %p, i32 0)
  call void @tally.count.drop(ptr %p, i32 0)
  call void (...) @tally.count.finish()
  ret void
}
define void @spent_twice(ptr %p) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  call void @tally.count.release(ptr %o)
  call void @tally.count.release(ptr %o)
  call void (...) @tally.count.finish()
  ret void
}
define void @no_drain(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  call void @poke()
  call void @tally.count.drop(ptr %p, i32 0)
  store ptr null, ptr %r
  call void @poke()
  ret void
}
define void @no_drain_at_the_end(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  call void @tally.count.drop(ptr %p, i32 0)
  ret void
}
define void @overwritten(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  store ptr null, ptr %r
  ret void
}
define void @left_behind(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  ret void
}
define void @dropped_and_not_owned(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.drop(ptr %p, i32 0)
  call void (...) @tally.count.finish()
  ret void
}
define void @owned_twice(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @tally.count.own(ptr %p, i32 0)
  call void @tally.count.own(ptr %p, i32 0)
  call void @tally.count.drop(ptr %p, i32 0)
  call void (...) @tally.count.finish()
  ret void
}
define void @no_such_root(ptr %p) nounwind gc "refcount-prompt" {
  call void @tally.count.drop(ptr %p, i32 7)
  call void (...) @tally.count.finish()
  ret void
}
define void @not_settled(ptr %p) nounwind gc "refcount-prompt" {
  %all = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %all, ptr @pair)
  store ptr %p, ptr %all
  call void @poke()
  ret void
}
define void @settled_and_left(ptr %p) nounwind gc "refcount-prompt" {
  %all = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %all, ptr @pair)
  call void @tally.count.settle(i32 0)
  call void (...) @tally.count.drain()
  call void @poke()
  ret void
}
define void @paths_disagree_about_a_root(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br i1 %which, label %one, label %end
one:
  call void @tally.count.own(ptr %p, i32 0)
  br label %end
end:
  call void @tally.count.drop(ptr %p, i32 0)
  call void (...) @tally.count.finish()
  ret void
}
define void @paths_disagree_about_a_temporary(i1 %which) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  br i1 %which, label %one, label %end
one:
  call void @tally.count.release(ptr %o)
  br label %end
end:
  call void (...) @tally.count.finish()
  ret void
}
define void @phi_without_a_credit(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
entry:
  br i1 %which, label %one, label %end
one:
  call void @tally.count.increment(ptr %p)
  call void @tally.count.pass(ptr %p)
  br label %end
end:
  %o = phi ptr [ %p, %one ], [ %p, %entry ]
  call void @tally.count.join(ptr %o)
  call void @tally.count.release(ptr %o)
  call void (...) @tally.count.finish()
  ret void
}
define internal ptr @result_without_a_count() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  call void @tally.count.release(ptr %o)
  call void (...) @tally.count.finish()
  ret ptr %o
}
define void @handler_that_does_not_drain(ptr %p) gc "refcount-prompt" personality ptr @__gxx_personality_v0 {
  invoke void @throw() to label %on unwind label %catch
on:
  ret void
catch:
  %pad = landingpad { ptr, i32 } catch ptr null
  call void @poke()
  ret void
}
declare void @throw()
declare i32 @__gxx_personality_v0(...)
