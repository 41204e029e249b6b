; Pattern "leaf calls": an internal function that only writes, and calls what is quiet or such a leaf, has no drain: its callers stop behind
; the call if anything is pending. There, and at polls of the lowering, roots are counted in the branch alone that is seldom taken.
; Recursion, a loop that lets go of references, and a function that is called from elsewhere are no leaves.
; OPTIONS: operations
; CHECK: define internal void @leaf
; CHECK-NOT: tally.count
; CHECK: define internal void @leaf_of_leaves
; CHECK-NOT: tally.count.
; CHECK: call void @abort
; CHECK-NOT: tally.count.
; CHECK: define internal void @recursive
; CHECK: call void (...) @tally.count.drain(ptr %next)
; CHECK: define internal void @loop
; CHECK: call i1 @tally.count.due(i32 1)
; CHECK: define void @known_elsewhere
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @caller
; CHECK-NOT: tally.count.own
; CHECK: call void @leaf_of_leaves(ptr %p)
; CHECK-NEXT: %[[DUE:.*]] = call i1 @tally.count.due(i32 0)
; CHECK-NEXT: br i1 %[[DUE]], label %[[STOP:.*]], label %[[REST:.*]], !prof
; CHECK: [[STOP]]:
; CHECK: call void @tally.count.own(ptr %{{.*}}, i32 0)
; CHECK: call void (...) @tally.count.stop()
; CHECK: call void @tally.count.drop(ptr %{{.*}}, i32 0)
; CHECK: br label %[[REST]]
; CHECK-NOT: tally.count.own
; CHECK: define ptr @result_in_flight
; CHECK: %[[TAKEN:.*]] = call ptr @field(ptr %p)
; CHECK: call void (...) @tally.count.stop(ptr %[[TAKEN]])
; CHECK: define void @calls_no_leaf
; CHECK: call void @tally.count.own
; CHECK: call void @recursive
; CHECK: define void @polled
; CHECK: call i1 @tally.count.due(i32 1)
; CHECK: call void @tally.count.own
; CHECK: call void (...) @tally.count.stop()
; CHECK: call void @tally_safepoint()
; CHECK: call void @tally.count.drop
; CHECK: define void @end_of_file
; REMARK-DAG: in @caller: remark: no count: root `root` borrows across this call
; REMARK-DAG: in @caller: remark: no count: root `root` borrowed its object
; REMARK-DAG: in @result_in_flight: remark: no count: root `root` borrows across this call
; REMARK-DAG: in @result_in_flight: remark: no count: root `root` borrowed its object
; REMARK-DAG: in @polled: remark: no count: root `root` borrowed its object
; REMARK-DAG: in @polled: remark: no count: root `root` borrowed its object
; REMARK-DAG: in @polled: remark: no count here: the next safepoint makes up for this write
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @abort() noreturn nounwind

define internal void @leaf(ptr %p) nounwind noinline gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  ret void
}
define internal void @leaf_of_leaves(ptr %p) nounwind noinline gc "refcount-prompt" {
  %wrong = icmp eq ptr %p, null
  br i1 %wrong, label %stop, label %go
stop:
  call void @abort()
  unreachable
go:
  call void @leaf(ptr %p)
  ret void
}
define internal ptr @field(ptr %p) nounwind noinline gc "refcount-prompt" {
  %slot = getelementptr i8, ptr %p, i64 8
  %inside = getelementptr i8, ptr %p, i64 16
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %slot)
  ret ptr %inside
}
define internal void @recursive(ptr %p) nounwind noinline gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %next = load ptr, ptr %p
  call void @recursive(ptr %next)
  ret void
}
define internal void @loop(ptr %p, i64 %n) nounwind noinline gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @known_elsewhere(ptr %p) nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  ret void
}
define void @caller(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @leaf_of_leaves(ptr %p)
  ret void
}
define ptr @result_in_flight(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  %taken = call ptr @field(ptr %p)
  ret ptr %taken
}
define void @calls_no_leaf(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @recursive(ptr %p)
  call void @loop(ptr %p, i64 %n)
  ret void
}
define void @polled(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %at = load ptr, ptr %root
  %second = getelementptr i8, ptr %at, i64 8
  call void @llvm.gcwrite(ptr null, ptr %at, ptr %second)
  %follower = load ptr, ptr %at
  store ptr %follower, ptr %root
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @end_of_file() nounwind gc "refcount-prompt" {
  ret void
}
