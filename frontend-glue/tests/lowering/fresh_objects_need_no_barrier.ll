; Writes to an object that was allocated here, with no safepoint since, need no barrier: the object is known through
; root slots and local variables, and must be fresh on every path.
; CHECK: define ptr @through_a_root
; CHECK-NOT: tally_log_slow
; CHECK: define ptr @on_both_paths
; CHECK-NOT: tally_log_slow
; CHECK: define ptr @on_one_path
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @after_a_safepoint
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @stale_value_of_a_slot
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @field_of_a_fresh_object
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @slot_behind_an_escape
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @across_iterations
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK: define ptr @array
; CHECK-NOT: call preserve_mostcc
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

define ptr @through_a_root(ptr %v) gc "refcount" {
  %r = alloca ptr
  %local = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  %a = load ptr, ptr %r
  store ptr %a, ptr %local
  %b = load ptr, ptr %local
  call void @llvm.gcwrite(ptr %b, ptr %b, ptr %b)
  ret ptr %b
}
define ptr @on_both_paths(i1 %c) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %c, label %one, label %two
one:
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  br label %join
two:
  %n = call ptr @tally_new(ptr @pair)
  store ptr %n, ptr %r
  br label %join
join:
  %a = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %a, ptr %a, ptr %a)
  ret ptr %a
}
define ptr @on_one_path(i1 %c, ptr %old) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %old, ptr %r
  br i1 %c, label %one, label %join
one:
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  br label %join
join:
  %a = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %a, ptr %a, ptr %a)
  ret ptr %a
}
define ptr @after_a_safepoint(ptr %old) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  call void @poke()
  %a = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %a, ptr %a)
  ret ptr %a
}
define ptr @stale_value_of_a_slot(ptr %old) gc "refcount" {
  %r = alloca ptr
  %s = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %s, ptr null)
  store ptr %old, ptr %s
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  %other = load ptr, ptr %s
  store ptr %other, ptr %r
  %a = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr %a, ptr %a)
  ret ptr %a
}
define ptr @field_of_a_fresh_object(ptr %old) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %child = load ptr, ptr %o
  call void @llvm.gcwrite(ptr null, ptr %child, ptr %child)
  ret ptr %o
}
define ptr @slot_behind_an_escape(ptr %old) gc "refcount" {
  %local = alloca ptr
  call void @leaf(ptr %local)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %local
  call void @leaf(ptr null)
  %a = load ptr, ptr %local
  call void @llvm.gcwrite(ptr null, ptr %a, ptr %a)
  ret ptr %a
}
declare void @leaf(ptr) "gc-leaf-function"
define ptr @across_iterations(i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %first = call ptr @tally_new(ptr @pair)
  store ptr %first, ptr %r
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %last = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %last, ptr %last)
  call void @poke()
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %o = load ptr, ptr %r
  ret ptr %o
}
define ptr @array(ptr %v, i64 %n) gc "refcount" {
  %a = call ptr @tally_new_array(ptr @pairs, i64 %n)
  %slot = getelementptr ptr, ptr %a, i64 3
  call void @llvm.gcwrite(ptr null, ptr %a, ptr %slot)
  ret ptr %a
}
