; scenario 187
; References that outlive a safepoint in no root, in the ways in which porters write them.
; WARNING-DAG: in @unrooted_parameter: the reference %p, an argument, sits in no root at the safepoint `call @tally_new` and is used after it, by `gcwrite`
; WARNING-DAG: in @field_then_safepoint: the reference %child from gcread sits in no root at the safepoint `call @poke` and is used after it, by `%x = load i64, ptr %child`
; WARNING-DAG: in @derived: the reference %child from gcread sits in no root at the safepoint `call @poke` and is used after it, by `%x = load i64, ptr %field`
; WARNING-DAG: in @root_was_overwritten: the reference %o from @tally_new sits in no root at the safepoint `call @poke`
; WARNING-DAG: in @variable_of_unoptimised_c: the reference %local from @tally_new sits in no root at the safepoint `call @poke`
; WARNING-DAG: in @carried_around_a_loop: the reference %first from @tally_new sits in no root at the safepoint `call @poke`
; WARNING-DAG: in @returned: the reference %o from @tally_new sits in no root at the safepoint `call @poke` and is used after it, by `ret ptr %o`
; WARNING-DAG: in @tried: the reference %o from @tally_try_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @tried_array: the reference %o from @tally_try_new_array sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @of_the_host: the reference %o from @tally_host_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @derived_pointers_that_merge: the reference %merged from @tally_new sits in no root at the safepoint `call @poke` and is used after it, by `%x = load i64, ptr %p`
; WARNING-DAG: in @derived_pointers_that_are_selected: the reference %selected from @tally_new sits in no root at the safepoint `call @poke` and is used after it, by `%x = load i64, ptr %p`
; WARNING-DAG: in @result_that_is_an_argument_in_no_root: the reference %o from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @caller_of_interned_at_times: the reference %o from @interned_at_times sits in no root at the safepoint `call @poke`
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)

declare void @poke()
define void @unrooted_parameter(ptr %p) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  ret void
}
define i64 @field_then_safepoint(ptr %p) gc "refcount" {
  %child = call ptr @llvm.gcread(ptr %p, ptr %p)
  call void @poke()
  %x = load i64, ptr %child
  ret i64 %x
}
define i64 @derived(ptr %p) gc "refcount" {
  %child = call ptr @llvm.gcread(ptr %p, ptr %p)
  %field = getelementptr i8, ptr %child, i64 8
  call void @poke()
  %x = load i64, ptr %field
  ret i64 %x
}
define i64 @root_was_overwritten(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  call void @poke()
  %a = load ptr, ptr %r
  %b = call ptr @llvm.gcread(ptr %a, ptr %a)
  store ptr %b, ptr %r
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
define i64 @variable_of_unoptimised_c() gc "refcount" {
  %local = alloca ptr
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %local
  call void @poke()
  %a = load ptr, ptr %local
  %x = load i64, ptr %a
  ret i64 %x
}
define ptr @carried_around_a_loop(i32 %n) gc "refcount" {
entry:
  %first = call ptr @tally_new(ptr @pair)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %last = phi ptr [ %first, %entry ], [ %last, %loop ]
  %x = load volatile i64, ptr %last
  call void @poke()
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr null
}
define ptr @returned() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @poke()
  ret ptr %o
}
declare ptr @tally_try_new(ptr)
declare ptr @tally_try_new_array(ptr, i64)
declare ptr @tally_host_new(ptr, ptr)
define i64 @tried() gc "refcount" {
  %o = call ptr @tally_try_new(ptr @pair)
  call void @poke()
  %x = load i64, ptr %o
  ret i64 %x
}
define i64 @tried_array() gc "refcount" {
  %o = call ptr @tally_try_new_array(ptr @pair, i64 3)
  call void @poke()
  %x = load i64, ptr %o
  ret i64 %x
}
define i64 @of_the_host(ptr %mine, ptr %free) gc "refcount" {
  %o = call ptr @tally_host_new(ptr %mine, ptr %free)
  call void @poke()
  %x = load i64, ptr %o
  ret i64 %x
}
define i64 @derived_pointers_that_merge(i1 %c) gc "refcount" {
  %merged = call ptr @tally_new(ptr @pair)
  br i1 %c, label %one, label %both
one:
  %field = getelementptr i8, ptr %merged, i64 8
  br label %both
both:
  %p = phi ptr [ %field, %one ], [ %merged, %0 ]
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @derived_pointers_that_are_selected(i1 %c) gc "refcount" {
  %selected = call ptr @tally_new(ptr @pair)
  %field = getelementptr i8, ptr %selected, i64 8
  %p = select i1 %c, ptr %field, ptr %selected
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
declare ptr @same(ptr returned)
define i64 @result_that_is_an_argument_in_no_root() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %p = call ptr @same(ptr %o)
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
declare void @tally_make_immortal(ptr)
define ptr @interned_at_times(i1 %c) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  br i1 %c, label %kept, label %free
kept:
  call void @tally_make_immortal(ptr %o)
  ret ptr %o
free:
  ret ptr %o
}
define i64 @caller_of_interned_at_times() gc "refcount" {
  %o = call ptr @interned_at_times(i1 true)
  call void @poke()
  %x = load i64, ptr %o
  ret i64 %x
}
