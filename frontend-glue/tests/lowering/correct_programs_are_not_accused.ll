; Correct programs are not accused: no WARNING here.
; CHECK: define
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)

declare void @poke()
declare void @look(ptr)
declare ptr @strdup(ptr)
@head = global ptr null
@text = constant [3 x i8] c"hi\00"
define ptr @argument_of_the_call_itself() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @look(ptr %o)
  ret ptr null
}
define i1 @comparison() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @poke()
  %same = icmp eq ptr %o, null
  ret i1 %same
}
define ptr @moved_between_roots(ptr %p) gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  store ptr %p, ptr %a
  %x = load ptr, ptr %a
  store ptr %x, ptr %b
  store ptr null, ptr %a
  call void @poke()
  %field = load i64, ptr %p
  %y = load ptr, ptr %b
  ret ptr %y
}
define void @list_walk(ptr %p) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %here = phi ptr [ %p, %entry ], [ %next, %more ]
  call void @poke()
  %x = load volatile i64, ptr %here
  %next = call ptr @llvm.gcread(ptr %here, ptr %here)
  %end = icmp eq ptr %next, null
  br i1 %end, label %done, label %more
more:
  store ptr %next, ptr %r
  br label %loop
done:
  ret void
}
define void @rooted_on_both_paths(i1 %c) gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  br i1 %c, label %one, label %two
one:
  store ptr %o, ptr %a
  br label %join
two:
  store ptr %o, ptr %b
  br label %join
join:
  call void @poke()
  call void @look(ptr %o)
  ret void
}
define ptr @what_is_no_reference(ptr %s) gc "refcount" {
  %copy = call ptr @strdup(ptr %s)
  call void @poke()
  call void @look(ptr %copy)
  call void @look(ptr %s)
  %global = load ptr, ptr @head
  call void @poke()
  call void @llvm.gcwrite(ptr @text, ptr @head, ptr @head)
  ret ptr %global
}
define i64 @derived_pointers_that_merge_beside_their_base(i1 %c) gc "refcount" {
  %a.root = alloca ptr
  %root = alloca ptr
  call void @llvm.gcroot(ptr %a.root, ptr null)
  call void @llvm.gcroot(ptr %root, ptr null)
  %a = call ptr @tally_new(ptr @pair)
  store ptr %a, ptr %a.root
  %b = call ptr @tally_new(ptr @pair)
  br i1 %c, label %one, label %other
one:
  %field = getelementptr i8, ptr %a, i64 8
  br label %both
other:
  br label %both
both:
  %base = phi ptr [ %a, %one ], [ %b, %other ]
  %p = phi ptr [ %field, %one ], [ %b, %other ]
  %q = select i1 %c, ptr %p, ptr %b
  store ptr %base, ptr %root
  store ptr null, ptr %a.root
  call void @poke()
  %x = load i64, ptr %p
  %y = load i64, ptr %q
  %sum = add i64 %x, %y
  ret i64 %sum
}
declare void @tally_make_immortal(ptr)
declare ptr @same(ptr returned, i64)
declare void @store_in(ptr, ptr)
define i64 @immortal_in_no_root() gc "refcount" {
  %k = alloca ptr
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %k
  call void @tally_make_immortal(ptr %o)
  call void @poke()
  %x = load ptr, ptr %k
  %v = load i64, ptr %x
  %w = load i64, ptr %o
  %sum = add i64 %v, %w
  ret i64 %sum
}
define ptr @interned() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @tally_make_immortal(ptr %o)
  ret ptr %o
}
define i64 @immortal_result_in_no_root() gc "refcount" {
  %o = call ptr @interned()
  call void @poke()
  %v = load i64, ptr %o
  ret i64 %v
}
define i64 @result_is_an_argument_in_a_root() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  %p = call ptr @same(ptr %o, i64 1)
  call void @poke()
  %v = load i64, ptr %p
  %q = load ptr, ptr %r
  ret i64 %v
}
define i64 @result_is_an_argument_and_used_at_once() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %p = call ptr @same(ptr %o, i64 1)
  %v = load i64, ptr %p
  ret i64 %v
}
define void @null_behind_a_write_of_null_and_at_a_global_of_no_references() gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr @head, ptr @head)
  store ptr null, ptr @head
  store ptr null, ptr @borrowed
  ret void
}
@borrowed = global ptr null
