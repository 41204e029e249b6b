; scenario 186
; Loops that write and never allocate poll at their latch, so that a long one lets epochs run.
; CHECK: define void @writes_only
; CHECK: br i1 %{{-?[0-9]+}}, label %{{-?[0-9]+}}, label %{{-?[0-9]+}}, !prof
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @reads_only
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @allocates
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @fills_a_fresh_array
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @calls_a_writer
; CHECK: call void @tally_safepoint_slow() [ "deopt"() ]
; CHECK: define void @inner_loop_reads
; CHECK: inner:
; CHECK-NOT: tally_safepoint_slow
; CHECK: outer_latch:
; CHECK: call void @tally_safepoint_slow()
; CHECK: define void @own_poll
; CHECK: call void @tally_safepoint_slow()
; CHECK-NOT: tally_safepoint_slow()
; CHECK: define void @irreducible
; CHECK: call void @tally_safepoint_slow()
; CHECK: ret void
; TOTAL-COUNT-5: call void @tally_safepoint_slow() [
; TOTAL-NOT: call void @tally_safepoint_slow() [
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@element = private constant [1 x i32] zeroinitializer
@pairs = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 1, ptr @refs, i64 16, i64 8, ptr @element, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
declare void @poke()

declare void @tally_safepoint()
define void @writes_only(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @reads_only(ptr %p, i32 %n) gc "refcount" {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %x = call ptr @llvm.gcread(ptr %p, ptr %p)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @allocates(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %x = call ptr @tally_new(ptr @pair)
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %x, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @fills_a_fresh_array(i64 %n) gc "refcount" {
entry:
  %a = call ptr @tally_new_array(ptr @pairs, i64 %n)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %slot = getelementptr ptr, ptr %a, i64 %i
  call void @llvm.gcwrite(ptr null, ptr %a, ptr %slot)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @writer(ptr %p) gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  ret void
}
define void @calls_a_writer(i32 %n) gc "refcount" {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %o = call ptr @somebody()
  call void @writer(ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare ptr @somebody()
define void @inner_loop_reads(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %j, %outer_latch ]
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  br label %inner
inner:
  %k = phi i32 [ 0, %outer ], [ %l, %inner ]
  %x = load volatile i64, ptr %o
  %l = add i32 %k, 1
  %again = icmp slt i32 %l, %n
  br i1 %again, label %inner, label %outer_latch
outer_latch:
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %outer, label %done
done:
  ret void
}
define void @own_poll(ptr %p, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  call void @tally_safepoint()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
@flag = global i1 false
define void @irreducible(ptr %p, i1 %c) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br i1 %c, label %a, label %b
a:
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  %x = load volatile i1, ptr @flag
  br i1 %x, label %b, label %done
b:
  %y = load volatile i1, ptr @flag
  br i1 %y, label %a, label %done
done:
  ret void
}
