; Each function makes an object that may not be on the stack, for one reason.
; OPTIONS: stack-objects
; TOTAL-COUNT-27: call ptr @tally_new{{(_array)?}}_slow(
; TOTAL-NOT: on.stack
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Some\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@vector = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@large = constant %tally_type { i32 1, i32 0, i64 136, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@array = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 8, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@finalized = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @finalize, ptr null, ptr null, ptr null }
@ephemeron = constant %tally_type { i32 1, i32 2, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@traced = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 3, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr @trace, ptr null, ptr null }
@tagged = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@kept = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
declare ptr @tally_weak_new(ptr)
declare void @use(ptr)
declare void @use_quietly(ptr captures(none)) "gc-leaf-function"
declare i32 @setjmp(ptr) returns_twice

define void @finalize(ptr %o) {
  ret void
}
define void @trace(ptr %words, i64 %n, ptr %visit, ptr %context) {
  ret void
}
define ptr @returned() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  ret ptr %o
}
define void @stored_to_a_global() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void @llvm.gcwrite(ptr %o, ptr @kept, ptr @kept)
  ret void
}
define void @stored_to_an_object() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %p = load ptr, ptr @kept
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  ret void
}
define void @stored_plainly(ptr %p) gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store ptr %o, ptr %p
  ret void
}
define void @passed_to_an_unknown_function() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void @use(ptr %o)
  ret void
}
define void @passed_to_a_declaration_that_promises() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void @use_quietly(ptr %o)
  ret void
}
define void @passed_to_a_pointer(ptr %f) gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void %f(ptr %o)
  ret void
}
define weak void @may_be_replaced(ptr %o) {
  ret void
}
define void @passed_to_one_that_may_be_replaced() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void @may_be_replaced(ptr %o)
  ret void
}
define internal void @keep(ptr %o) gc "refcount" {
  call void @llvm.gcwrite(ptr %o, ptr @kept, ptr @kept)
  ret void
}
define internal void @pass_on(ptr %o) gc "refcount" {
  call void @keep(ptr %o)
  ret void
}
define void @kept_by_what_a_callee_calls() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  call void @pass_on(ptr %o)
  ret void
}
define internal ptr @same(ptr %o) noinline gc "refcount" {
  ret ptr %o
}
define void @returned_by_a_callee() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %s = call ptr @same(ptr %o)
  ret void
}
define internal void @write(ptr %o, ptr %v) noinline gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  ret void
}
define void @written_by_a_callee(ptr %v) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %use = load i64, ptr %o
  call void @write(ptr %o, ptr %v)
  ret void
}
define void @in_a_guaranteed_tail_call(ptr %v) gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  musttail call void @tail(ptr %o)
  ret void
}
define internal void @tail(ptr %o) gc "refcount" {
  store i64 1, ptr %o
  ret void
}
define i64 @made_a_number() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %n = ptrtoint ptr %o to i64
  ret i64 %n
}
define void @given_to_a_service() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %w = call ptr @tally_weak_new(ptr %o)
  ret void
}
define void @carried_round_a_loop(i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %before = phi ptr [ null, %entry ], [ %o, %next ]
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store ptr %o, ptr %r
  %none = icmp eq ptr %before, null
  br i1 %none, label %next, label %some
some:
  store i64 %i, ptr %before
  br label %next
next:
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
define void @left_in_a_variable(i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %before = load ptr, ptr %r
  %none = icmp eq ptr %before, null
  br i1 %none, label %next, label %some
some:
  store i64 %i, ptr %before
  br label %next
next:
  store ptr %o, ptr %r
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
define void @read_before_it_is_made(i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %next ]
  %before = load ptr, ptr %r
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store ptr %o, ptr %r
  %none = icmp eq ptr %before, null
  br i1 %none, label %next, label %some
some:
  store i64 %i, ptr %before
  br label %next
next:
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
define void @written_where_it_is_one_of_two(i1 %c) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %use = load i64, ptr %o
  %p = load ptr, ptr @kept
  %v = load ptr, ptr @kept
  %one = select i1 %c, ptr %o, ptr %p
  call void @llvm.gcwrite(ptr %v, ptr %one, ptr %one)
  ret void
}
define void @in_a_function_that_returns_twice(ptr %buffer) gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  %n = call i32 @setjmp(ptr %buffer)
  store i64 1, ptr %o
  ret void
}
define void @in_a_function_that_says_so() "tally-stack-objects"="false" gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store i64 1, ptr %o
  ret void
}
define void @accessed_by_an_atomic_store() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store atomic i64 1, ptr %o seq_cst, align 8
  ret void
}
define void @large_object() gc "refcount" {
  %o = call ptr @tally_new(ptr @large)
  %use = load i64, ptr %o
  store i64 1, ptr %o
  ret void
}
define void @object_with_elements() gc "refcount" {
  %o = call ptr @tally_new_array(ptr @array, i64 4)
  ret void
}
define void @object_with_a_finalizer() gc "refcount" {
  %o = call ptr @tally_new(ptr @finalized)
  %use = load i64, ptr %o
  store i64 1, ptr %o
  ret void
}
define void @ephemerons() gc "refcount" {
  %o = call ptr @tally_new(ptr @ephemeron)
  %use = load i64, ptr %o
  ret void
}
define void @object_that_a_function_traces() gc "refcount" {
  %o = call ptr @tally_new(ptr @traced)
  %use = load i64, ptr %o
  ret void
}
define void @object_of_tagged_words() gc "refcount" {
  %o = call ptr @tally_new(ptr @tagged)
  %use = load i64, ptr %o
  ret void
}
define void @made_for_the_sake_of_the_allocation() gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  store i64 1, ptr %o
  ret void
}
