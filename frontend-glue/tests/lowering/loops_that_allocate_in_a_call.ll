; scenario 186
; A loop whose call allocates whichever way it goes needs no poll; one whose call may not allocate, or whose callee the
; linker may replace, does.
; CHECK: define void @through_a_call
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @through_two_calls
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @only_sometimes
; CHECK: call void @tally_safepoint_slow()
; CHECK: define void @another_may_be_linked
; CHECK: call void @tally_safepoint_slow()
; CHECK: ret void
; TOTAL-COUNT-2: call void @tally_safepoint_slow() [
; TOTAL-NOT: call void @tally_safepoint_slow() [
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
define void @through_a_call(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %new = call ptr @make()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %new, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @through_two_calls(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %new = call ptr @make_either_way(i32 %i)
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %new, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @only_sometimes(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %new = call ptr @make_or_not(i32 %i)
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %new, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @another_may_be_linked(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %new = call ptr @make_weakly()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %new, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define ptr @make() gc "refcount" {
  %new = call ptr @tally_new(ptr @pair)
  ret ptr %new
}
define ptr @make_either_way(i32 %i) gc "refcount" {
  %odd = icmp eq i32 %i, 1
  br i1 %odd, label %one, label %other
one:
  %a = call ptr @make()
  ret ptr %a
other:
  %b = call ptr @tally_new(ptr @pair)
  ret ptr %b
}
define ptr @make_or_not(i32 %i) gc "refcount" {
  %odd = icmp eq i32 %i, 1
  br i1 %odd, label %one, label %other
one:
  %a = call ptr @make()
  ret ptr %a
other:
  ret ptr null
}
define weak ptr @make_weakly() gc "refcount" {
  %new = call ptr @tally_new(ptr @pair)
  ret ptr %new
}
