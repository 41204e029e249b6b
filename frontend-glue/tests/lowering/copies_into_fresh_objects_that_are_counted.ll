; Under the prompt plan a copy of references into a fresh object is counted by nothing, either. A copy of constants has none.
; WARNING-DAG: in @of_an_object: references are copied into an object without the barrier
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Node\00"
@refs = private constant [1 x i32] [i32 8]
@node = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@zeros = private constant [24 x i8] zeroinitializer
declare ptr @tally_new(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptr @of_an_object(ptr %from) gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %from, ptr %root
  %object = call ptr @tally_new(ptr @node)
  call void @llvm.memcpy.p0.p0.i64(ptr %object, ptr %from, i64 24, i1 false)
  ret ptr %object
}
define ptr @of_constants() gc "refcount-prompt" {
  %object = call ptr @tally_new(ptr @node)
  call void @llvm.memcpy.p0.p0.i64(ptr %object, ptr @zeros, i64 24, i1 false)
  ret ptr %object
}
declare void @llvm.gcroot(ptr, ptr)
