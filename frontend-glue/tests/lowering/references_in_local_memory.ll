; References in local memory and in values that are no pointers: what outlives a safepoint there, and what a root holds after all.
; WARNING-DAG: in @word_of_a_struct: the reference %s from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @copied_struct: the reference %s from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @element_of_an_array: the reference %s from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @passed_by_address: the reference %s from @tally_new sits in no root at the safepoint `call @poke` and is used after it, by `call @sum`
; WARNING-DAG: in @chosen: the reference %o from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @chosen_root_is_overwritten: the reference %overwritten from @tally_new sits in no root at the safepoint `call @poke` and is used after it
; WARNING-DAG: in @helper_that_stores: a reference is stored plainly to an object
; WARNING-DAG: in @rooted_inside: a pointer into an object is stored to a root
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@tagged_refs = private constant [1 x i32] zeroinitializer
@tagged = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 1, i64 1, i64 -2, i32 1, i32 0, ptr @tagged_refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @tally_new(ptr)
declare void @poke()
; CHECK-LABEL: define i64 @word_of_a_struct
define i64 @word_of_a_struct() gc "refcount" {
  %s = alloca { i64, ptr }
  %second = getelementptr { i64, ptr }, ptr %s, i32 0, i32 1
  %1 = call ptr @tally_new(ptr @pair)
  store i64 7, ptr %s
  store ptr %1, ptr %second
  call void @poke()
  %first = load i64, ptr %s
  %again = load ptr, ptr %second
  %x = load i64, ptr %again
  %sum = add i64 %first, %x
  ret i64 %sum
}
define i64 @overwritten_word() gc "refcount" {
  %s = alloca { i64, ptr }
  %second = getelementptr { i64, ptr }, ptr %s, i32 0, i32 1
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %second
  call void @poke()
  %fresh = call ptr @tally_new(ptr @pair)
  store ptr %fresh, ptr %second
  %again = load ptr, ptr %second
  %x = load i64, ptr %again
  ret i64 %x
}
define i64 @cleared_struct() gc "refcount" {
  %s = alloca { i64, ptr }
  %second = getelementptr { i64, ptr }, ptr %s, i32 0, i32 1
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %second
  call void @poke()
  call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 16, i1 false)
  %again = load ptr, ptr %second
  %x = load i64, ptr %again
  ret i64 %x
}
define i64 @copied_struct() gc "refcount" {
  %s = alloca { i64, ptr }
  %t = alloca { i64, ptr }
  %second = getelementptr { i64, ptr }, ptr %s, i32 0, i32 1
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %second
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %s, i64 16, i1 false)
  call void @poke()
  %word = getelementptr { i64, ptr }, ptr %t, i32 0, i32 1
  %again = load ptr, ptr %word
  %x = load i64, ptr %again
  ret i64 %x
}
define i64 @copied_struct_of_a_rooted_reference() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %s = alloca { i64, ptr }
  %t = alloca { i64, ptr }
  %second = getelementptr { i64, ptr }, ptr %s, i32 0, i32 1
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %second
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %s, i64 16, i1 false)
  store ptr %o, ptr %r
  call void @poke()
  %word = getelementptr { i64, ptr }, ptr %t, i32 0, i32 1
  %again = load ptr, ptr %word
  %x = load i64, ptr %again
  %root = load ptr, ptr %r
  ret i64 %x
}
define i64 @element_of_an_array(i64 %i) gc "refcount" {
  %s = alloca [4 x ptr]
  %word = getelementptr [4 x ptr], ptr %s, i64 0, i64 %i
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %word
  call void @poke()
  %again = load ptr, ptr %word
  %x = load i64, ptr %again
  ret i64 %x
}
define i64 @sum(ptr %s) {
  %a = load ptr, ptr %s
  %x = load i64, ptr %a
  ret i64 %x
}
define void @reset(ptr %s) {
  store ptr null, ptr %s
  ret void
}
define i64 @passed_by_address() gc "refcount" {
  %s = alloca { ptr, ptr }
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %s
  call void @poke()
  %x = call i64 @sum(ptr %s)
  ret i64 %x
}
define i64 @only_filled_by_the_callee() gc "refcount" {
  %s = alloca { ptr, ptr }
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %s
  call void @poke()
  call void @reset(ptr %s)
  %again = load ptr, ptr %s
  %none = icmp eq ptr %again, null
  %x = zext i1 %none to i64
  ret i64 %x
}
define i64 @chosen(i1 %c, ptr %other) gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %p = select i1 %c, ptr %o, ptr null
  call void @poke()
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @word_in_a_tagged_root() gc "refcount" {
  %r = alloca i64
  call void @llvm.gcroot(ptr %r, ptr @tagged)
  %o = call ptr @tally_new(ptr @pair)
  %bits = ptrtoint ptr %o to i64
  %word = or i64 %bits, 1
  store i64 %word, ptr %r
  call void @poke()
  %x = load i64, ptr %o
  %root = load i64, ptr %r
  ret i64 %x
}
define i64 @struct_in_a_root(ptr %p) gc "refcount" {
  %r = alloca { ptr, ptr }
  call void @llvm.gcroot(ptr %r, ptr @pair)
  %a = call ptr @tally_new(ptr @pair)
  %one = insertvalue { ptr, ptr } zeroinitializer, ptr %a, 0
  store { ptr, ptr } %one, ptr %r
  call void @poke()
  %x = load i64, ptr %a
  %root = load ptr, ptr %r
  ret i64 %x
}
define i64 @number_or_reference(i1 %c) gc "refcount" {
entry:
  br i1 %c, label %boxed, label %join
boxed:
  %o = call ptr @tally_new(ptr @pair)
  %bits = ptrtoint ptr %o to i64
  br label %join
join:
  %word = phi i64 [ 7, %entry ], [ %bits, %boxed ]
  call void @poke()
  %tag = and i64 %word, 1
  %is_number = icmp eq i64 %tag, 1
  %result = select i1 %is_number, i64 %word, i64 0
  ret i64 %result
}
define void @set(ptr %object, ptr %value) {
  %slot = getelementptr i8, ptr %object, i64 8
  store ptr %value, ptr %slot
  ret void
}
define void @helper_that_stores(ptr %object, ptr %value) {
  store ptr %value, ptr %object
  ret void
}
define void @calls_helpers(i64 %n) gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  %m = alloca { ptr, ptr }
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %a
  %p = call ptr @tally_new(ptr @pair)
  store ptr %p, ptr %b
  call void @set(ptr %m, ptr %p)
  call void @helper_that_stores(ptr %o, ptr %p)
  %x = load ptr, ptr %a
  %y = load ptr, ptr %b
  ret void
}
define i64 @rooted_inside() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  %inside = getelementptr i8, ptr %o, i64 8
  store ptr %inside, ptr %r
  %x = load i64, ptr %inside
  ret i64 %x
}
; The optimiser makes one load or store of two roots, as of C's `c ? one : other`.
; CHECK-LABEL: define i64 @loaded_from_one_of_two_roots
define i64 @loaded_from_one_of_two_roots(ptr %a, ptr %b, i1 %c) gc "refcount" {
  %one = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  store ptr %a, ptr %one
  %other = alloca ptr
  call void @llvm.gcroot(ptr %other, ptr null)
  store ptr %b, ptr %other
  %chosen = select i1 %c, ptr %one, ptr %other
  %object = load ptr, ptr %chosen
  call void @poke()
  %x = load i64, ptr %object
  call void @llvm.gcwrite(ptr %object, ptr %object, ptr %object)
  ret i64 %x
}
; CHECK-LABEL: define i64 @stored_to_one_of_two_roots
define i64 @stored_to_one_of_two_roots(i1 %c) gc "refcount" {
start:
  %one = alloca ptr
  store ptr null, ptr %one
  call void @llvm.gcroot(ptr %one, ptr null)
  %other = alloca ptr
  store ptr null, ptr %other
  call void @llvm.gcroot(ptr %other, ptr null)
  br i1 %c, label %first, label %second
first:
  br label %both
second:
  br label %both
both:
  %chosen = phi ptr [ %one, %first ], [ %other, %second ]
  %object = call ptr @tally_new(ptr @pair)
  store ptr %object, ptr %chosen
  call void @poke()
  %x = load i64, ptr %object
  ret i64 %x
}
; CHECK-LABEL: define i64 @chosen_root_is_overwritten
define i64 @chosen_root_is_overwritten(i1 %c) gc "refcount" {
  %one = alloca ptr
  store ptr null, ptr %one
  call void @llvm.gcroot(ptr %one, ptr null)
  %other = alloca ptr
  store ptr null, ptr %other
  call void @llvm.gcroot(ptr %other, ptr null)
  %chosen = select i1 %c, ptr %one, ptr %other
  %overwritten = call ptr @tally_new(ptr @pair)
  store ptr %overwritten, ptr %chosen
  store ptr null, ptr %one
  store ptr null, ptr %other
  call void @poke()
  %x = load i64, ptr %overwritten
  ret i64 %x
}
