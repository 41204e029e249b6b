; Prompt plan: each reference is a plain root of its own, and what it holds dies where it would die with the object. Where that is not
; certain the object stays on the heap.
; OPTIONS: stack-objects plan=refcount-prompt
; REMARK-DAG: in @until_the_end: remark: no allocation
; REMARK-DAG: in @until_its_root_is_empty: remark: no allocation
; REMARK-DAG: in @data_of_two_roots: remark: no allocation
; REMARK-DAG: in @until_its_root_is_empty: remark: no count: root `p.0` borrowed
; REMARK-DAG: in @in_two_roots: remark: no count
; REMARK-DAG: in @used_behind_its_root: remark: no count
; REMARK-DAG: in @rooted_on_one_way: remark: no count
; REMARK-DAG: in @passed_to_a_function: remark: no count
; REMARK-DAG: in @at_a_place_that_is_computed: remark: no count
; TOTAL-COUNT-6: call ptr @tally_new_slow(
; TOTAL-NOT: call ptr @tally_new_slow(
; CHECK-LABEL: define void @until_the_end(
; CHECK: %p.8 = alloca ptr
; CHECK: %p.0 = alloca ptr
; CHECK-NOT: tally_new_slow
; CHECK-LABEL: define void @until_its_root_is_empty(
; CHECK-NOT: tally_new_slow
; CHECK-LABEL: define void @data_of_two_roots(
; CHECK-NOT: tally_new_slow
; CHECK-LABEL: define void @in_no_root(
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Some\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@vector = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@kept = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke()

define void @until_the_end() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  call void @poke()
  ret void
}
define void @until_its_root_is_empty() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  store ptr null, ptr %r
  call void @poke()
  ret void
}
define void @data_of_two_roots() gc "refcount" {
  %r = alloca ptr
  %s = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %s, ptr null)
  %o = call ptr @tally_new(ptr @vector)
  %use = load i64, ptr %o
  store ptr %o, ptr %r
  store ptr %o, ptr %s
  store ptr null, ptr %r
  call void @poke()
  ret void
}
define void @in_no_root() gc "refcount" {
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  call void @poke()
  ret void
}
define void @in_two_roots() gc "refcount" {
  %r = alloca ptr
  %s = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %s, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  store ptr %p, ptr %s
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  store ptr null, ptr %r
  call void @poke()
  ret void
}
define void @used_behind_its_root() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  store ptr null, ptr %r
  %first = load ptr, ptr %p
  store i64 1, ptr %first
  ret void
}
define void @rooted_on_one_way(i1 %c) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  br i1 %c, label %one, label %end
one:
  store ptr %p, ptr %r
  br label %end
end:
  call void @poke()
  ret void
}
define internal i64 @look(ptr %p) noinline {
  %first = load ptr, ptr %p
  %x = load i64, ptr %first
  ret i64 %x
}
define void @passed_to_a_function() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  %x = call i64 @look(ptr %p)
  ret void
}
define void @at_a_place_that_is_computed(i64 %i) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %use = load ptr, ptr %p
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  %slot = getelementptr ptr, ptr %p, i64 %i
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %slot)
  ret void
}
