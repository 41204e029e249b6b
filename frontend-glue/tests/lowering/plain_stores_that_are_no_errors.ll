; Plain stores that are no error: behind a branch that may never be taken, of what may be null, of what gcwrite writes as well.
; WARNING-DAG: in @asks_for_its_type: a reference is stored plainly to an object
; WARNING-DAG: in @of_what_may_be_null: a reference is stored plainly to an object
; WARNING-DAG: in @as_well: a reference is stored plainly to an object
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Node\00"
@refs = private constant [1 x i32] [i32 8]
@node = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_try_new(ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @tally_collect()
declare ptr @malloc(i64)
@list = global ptr null
define void @asks_for_its_type() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr %root
  %kind = load i32, ptr %object
  %is_other = icmp eq i32 %kind, 7
  br i1 %is_other, label %other, label %out
other:
  %value = call ptr @tally_new(ptr @node)
  %slot = getelementptr i8, ptr %object, i64 8
  store ptr %value, ptr %slot
  br label %out
out:
  ret void
}
define void @never_runs() gc "refcount" {
  br i1 false, label %never, label %out
never:
  %object = call ptr @tally_new(ptr @node)
  %slot = getelementptr i8, ptr %object, i64 16
  store ptr null, ptr %slot
  br label %out
out:
  ret void
}
define void @of_what_may_be_null(i1 %c) gc "refcount" {
entry:
  %previous = alloca ptr
  call void @llvm.gcroot(ptr %previous, ptr null)
  store ptr null, ptr %previous
  br label %loop
loop:
  %object = call ptr @tally_new(ptr @node)
  %value = load ptr, ptr %previous
  %slot = getelementptr i8, ptr %object, i64 8
  store ptr %value, ptr %slot
  store ptr %object, ptr %previous
  br i1 %c, label %loop, label %out
out:
  ret void
}
define void @as_well() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr %root
  %value = call ptr @tally_new(ptr @node)
  %slot = getelementptr i8, ptr %object, i64 8
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %slot)
  store ptr %value, ptr %slot
  call void @llvm.gcwrite(ptr %value, ptr @list, ptr @list)
  store ptr %value, ptr @list
  ret void
}
define void @to_a_field_that_is_none() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr %root
  %value = call ptr @tally_new(ptr @node)
  %slot = getelementptr i8, ptr %object, i64 16
  store ptr %value, ptr %slot
  ret void
}
