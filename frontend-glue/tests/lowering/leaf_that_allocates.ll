; Leaves that make objects: the program breaks its promise, but the counts of what it returns are still in balance.
; OPTIONS: plan=refcount-prompt patterns=all
; CHECK: define ptr @of_a_leaf
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
define ptr @leaf() "gc-leaf-function" gc "refcount-prompt" {
  %object = call ptr @tally_new(ptr @node)
  ret ptr %object
}
define ptr @twice() returns_twice gc "refcount-prompt" {
  %object = call ptr @tally_new(ptr @node)
  ret ptr %object
}
define ptr @of_a_leaf() gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @leaf()
  store ptr %object, ptr %root
  call void @tally_collect()
  %other = call ptr @twice()
  store ptr %other, ptr %root
  call void @tally_collect()
  %kept = load ptr, ptr %root
  ret ptr %kept
}
