; scenarios 130, 132
; Pattern "moves" through a phi: either object's count goes along its edge; null brings none, and what a root holds is counted
; on its edge. A phi into which anything else flows takes no counts.
; OPTIONS: operations
; CHECK: define void @two_objects
; CHECK: call void @tally.count.spend(ptr %a)
; CHECK: call void @tally.count.pass(ptr %a)
; CHECK: call void @tally.count.spend(ptr %b)
; CHECK: call void @tally.count.pass(ptr %b)
; CHECK: %o = phi
; CHECK: call void @tally.count.join(ptr %o)
; CHECK: call void @tally.count.take(ptr %o, i32 0)
; CHECK: define void @object_or_null
; CHECK: call void @tally.count.spend(ptr %a)
; CHECK: call void @tally.count.pass(ptr %a)
; CHECK-NOT: tally.count.pass
; CHECK: call void @tally.count.join(ptr %o)
; CHECK: define void @object_or_root
; CHECK: call void @tally.count.increment(ptr %p)
; CHECK: call void @tally.count.pass(ptr %p)
; CHECK: call void @tally.count.join(ptr %o)
; CHECK: define void @object_or_field
; CHECK-NOT: tally.count.join
; CHECK: call void @tally.count.own
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

define void @two_objects(i1 %which) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %which, label %one, label %other
one:
  %a = call ptr @tally_new(ptr @pair)
  br label %both
other:
  %b = call ptr @tally_new(ptr @pair)
  br label %both
both:
  %o = phi ptr [ %a, %one ], [ %b, %other ]
  store ptr %o, ptr %r
  call void @poke()
  ret void
}
define void @object_or_null(i1 %which) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %which, label %one, label %both
one:
  %a = call ptr @tally_new(ptr @pair)
  br label %both
both:
  %o = phi ptr [ %a, %one ], [ null, %entry ]
  store ptr %o, ptr %r
  call void @poke()
  ret void
}
define void @object_or_root(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %old = load ptr, ptr %r
  br i1 %which, label %one, label %both
one:
  %a = call ptr @tally_new(ptr @pair)
  br label %both
both:
  %o = phi ptr [ %a, %one ], [ %old, %entry ]
  store ptr %o, ptr %r
  call void @poke()
  ret void
}
define void @object_or_field(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %field = load ptr, ptr %p
  br i1 %which, label %one, label %both
one:
  %a = call ptr @tally_new(ptr @pair)
  br label %both
both:
  %either = phi ptr [ %a, %one ], [ %field, %entry ]
  store ptr %either, ptr %r
  call void @poke()
  ret void
}
