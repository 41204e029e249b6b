; scenario 131
; Pattern "lazy roots": between safepoints a root borrows. One that is overwritten or left before the next safepoint is never
; counted; one that lives across a safepoint is, once, however often it was stored to before.
; OPTIONS: operations
; CHECK: define i64 @never_seen
; CHECK-NOT: tally.count
; CHECK: define void @seen_by_a_safepoint
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: call void @poke
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: call void (...) @tally.count.finish
; CHECK: define void @twice
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK-NOT: tally.count.own
; CHECK: call void @poke
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK-NOT: tally.count.own
; CHECK: define void @tail_of_file
; REMARK-DAG: in @never_seen: remark: no count: root `r` borrowed its object from safepoint to safepoint
; REMARK-DAG: in @twice: remark: no count: root `r` borrowed its object from safepoint to safepoint
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @poke() nounwind

define i64 @never_seen(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = load ptr, ptr %r
  %v = load i64, ptr %o
  ret i64 %v
}
define void @seen_by_a_safepoint(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  ret void
}
define void @twice(ptr %p, ptr %q) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  store ptr %q, ptr %r
  call void @poke()
  ret void
}

define void @tail_of_file() nounwind gc "refcount-prompt" {
  ret void
}
