; What a stored value was made of counts as stored: the root protects what was derived from an operand of its phi or select,
; from the tagged word it was untagged from, from what went through a variable, and from the argument that a call returns.
; CHECK: define i64 @base_is_a_phi
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_a_select
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_a_frozen_phi_of_a_loop
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_lies_before_the_pointer
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_an_untagged_word
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_went_through_a_variable
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_was_copied_as_memory
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_a_returned_argument
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_what_a_leaf_made_of_it
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_is_laundered
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @base_moved_to_another_root
; CHECK: call void @poke() [ "deopt"({{.*}}ptr %r) ]
; CHECK: define i64 @read_from_a_root_that_was_filled_from_another
; CHECK: call void @poke() [ "deopt"({{.*}}ptr %r{{.*}}) ]
; CHECK: define void @dead_head_of_a_list
; CHECK: call void @look(ptr %field) [ "deopt"(i64 {{-?[0-9]+}}, ptr %cursor) ]
; CHECK: define i64 @result_is_another_object
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @poke()
declare void @look(ptr)
declare ptr @make()
declare ptr @made_of(ptr)
declare ptr @same(ptr returned)
declare ptr @object_of(ptr) "gc-leaf-function"
declare ptr @llvm.launder.invariant.group.p0(ptr)

define i64 @base_is_a_phi(ptr %a, ptr %b, i1 %c) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %c, label %one, label %other
one:
  %field = getelementptr i8, ptr %a, i64 8
  br label %both
other:
  br label %both
both:
  %base = phi ptr [ %a, %one ], [ %b, %other ]
  %p = phi ptr [ %field, %one ], [ %b, %other ]
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @base_is_a_select(ptr %a, ptr %b, i1 %c) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %field = getelementptr i8, ptr %a, i64 8
  %base = select i1 %c, ptr %a, ptr %b
  %p = select i1 %c, ptr %field, ptr %b
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @base_is_a_frozen_phi_of_a_loop(ptr %a, i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %here = phi ptr [ %a, %entry ], [ %next, %loop ]
  %i = phi i64 [ 0, %entry ], [ %more, %loop ]
  %p = phi ptr [ %a, %entry ], [ %field, %loop ]
  %frozen = freeze ptr %here
  store ptr %frozen, ptr %r
  call void @poke()
  %x = load i64, ptr %p
  %next = load ptr, ptr %here
  %field = getelementptr i8, ptr %next, i64 8
  %more = add i64 %i, %x
  %again = icmp slt i64 %more, %n
  br i1 %again, label %loop, label %done
done:
  ret i64 %more
}
define i64 @base_lies_before_the_pointer(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %base = getelementptr i8, ptr %p, i64 -8
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @base_is_an_untagged_word(i64 %word) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %bits = and i64 %word, -8
  %base = inttoptr i64 %bits to ptr
  store ptr %base, ptr %r
  call void @poke()
  %same = and i64 %word, -8
  %p = inttoptr i64 %same to ptr
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @base_went_through_a_variable(ptr %a, ptr %b, i1 %c) gc "refcount" {
entry:
  %r = alloca ptr
  %pair = alloca { ptr, ptr }
  call void @llvm.gcroot(ptr %r, ptr null)
  %second = getelementptr { ptr, ptr }, ptr %pair, i64 0, i32 1
  store ptr %a, ptr %pair
  store ptr %b, ptr %second
  %from = select i1 %c, ptr %pair, ptr %second
  %base = load ptr, ptr %from
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %b
  ret i64 %x
}
define i64 @base_was_copied_as_memory(ptr %a) gc "refcount" {
  %r = alloca ptr
  %variable = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %a, ptr %variable
  call void @llvm.memcpy.p0.p0.i64(ptr %r, ptr %variable, i64 8, i1 false)
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
define i64 @base_is_a_returned_argument(ptr %a) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %base = call ptr @same(ptr %a)
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
define i64 @base_is_what_a_leaf_made_of_it(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %base = call ptr @object_of(ptr %p)
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @base_is_laundered(ptr %a) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %base = call ptr @llvm.launder.invariant.group.p0(ptr %a)
  store ptr %base, ptr %r
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
define i64 @base_moved_to_another_root(ptr %a) gc "refcount" {
  %first = alloca ptr
  %r = alloca ptr
  call void @llvm.gcroot(ptr %first, ptr null)
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %a, ptr %first
  %same = load ptr, ptr %first
  store ptr %same, ptr %r
  store ptr null, ptr %first
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
define i64 @read_from_a_root_that_was_filled_from_another(ptr %a, ptr %b) gc "refcount" {
  %r = alloca ptr
  %second = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %second, ptr null)
  store ptr %a, ptr %r
  store ptr %a, ptr %second
  %same = load ptr, ptr %second
  store ptr %b, ptr %second
  call void @poke()
  %x = load i64, ptr %same
  ret i64 %x
}
; The head is dead, and the cursor alone protects what is read from it: the list goes as the loop goes on.
define void @dead_head_of_a_list(ptr %list, i64 %n) gc "refcount" {
entry:
  %head = alloca ptr
  %cursor = alloca ptr
  call void @llvm.gcroot(ptr %head, ptr null)
  call void @llvm.gcroot(ptr %cursor, ptr null)
  store ptr %list, ptr %head
  %first = load ptr, ptr %head
  store ptr %first, ptr %cursor
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %loop ]
  %here = load ptr, ptr %cursor
  %field = getelementptr i8, ptr %here, i64 8
  call void @look(ptr %field)
  %next = load ptr, ptr %here
  store ptr %next, ptr %cursor
  %more = add i64 %i, 1
  %again = icmp slt i64 %more, %n
  br i1 %again, label %loop, label %done
done:
  ret void
}
; What an opaque call returns is another object: its dead root keeps nothing while the argument is used.
define i64 @result_is_another_object(ptr %a) gc "refcount" {
  %r = alloca ptr
  %result = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %result, ptr null)
  store ptr %a, ptr %r
  %made = call ptr @made_of(ptr %a)
  store ptr %made, ptr %result
  call void @poke()
  %x = load i64, ptr %a
  ret i64 %x
}
