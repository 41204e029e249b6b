; scenario 193
; scenario 132
; Where paths meet and one of them owns, the other's edge makes up for it: on the edge itself, which is split if it is
; critical; all cases of a switch that go one way are one edge. A temporary that one path has used is let go on the other's.
; OPTIONS: operations
; CHECK: define void @critical
; CHECK: br i1 %which, label %safepoint, label %{{-?[0-9]+}}
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: call void @poke
; CHECK: call void @tally.count.own(ptr {{.*}}, i32 0)
; CHECK: define void @switched
; CHECK: switch i64 %n, label %{{-?[0-9]+}} [
; CHECK: i64 1, label %safepoint
; CHECK: i64 2, label %{{-?[0-9]+}}
; CHECK: define void @temporary
; CHECK: call void @tally.count.release(ptr %o)
; CHECK: define void @loop
; CHECK: call void @tally.count.spend(ptr %next)
; CHECK: call void @tally.count.pass(ptr %next)
; CHECK: define void @phi_on_a_critical_edge
; CHECK: call void @tally.count.join(ptr %o)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

define void @critical(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br i1 %which, label %safepoint, label %end
safepoint:
  call void @poke()
  br label %end
end:
  call void @poke()
  ret void
}
define void @switched(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  switch i64 %n, label %end [ i64 1, label %safepoint
                              i64 2, label %end
                              i64 3, label %end ]
safepoint:
  call void @poke()
  br label %end
end:
  call void @poke()
  ret void
}
define void @temporary(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  br i1 %which, label %use, label %end
use:
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  br label %end
end:
  ret void
}
define void @loop(i64 %n) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %head
head:
  %o = phi ptr [ null, %entry ], [ %next, %head ]
  %i = phi i64 [ 0, %entry ], [ %j, %head ]
  store ptr %o, ptr %r
  %next = call ptr @tally_new(ptr @pair)
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %head, label %end
end:
  ret void
}
define void @phi_on_a_critical_edge(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %fresh = call ptr @tally_new(ptr @pair)
  %held = load ptr, ptr %r
  switch i64 %n, label %other [ i64 1, label %both
                                i64 2, label %both ]
other:
  call void @poke()
  %later = load ptr, ptr %r
  %odd = icmp eq i64 %n, 7
  br i1 %odd, label %both, label %end
both:
  %o = phi ptr [ %fresh, %entry ], [ %fresh, %entry ], [ %later, %other ]
  store ptr %o, ptr %r
  call void @poke()
  br label %end
end:
  ret void
}
