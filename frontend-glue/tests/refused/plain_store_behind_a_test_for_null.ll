; REFUSED: in @main: a reference is stored plainly to an object, at offset 8 of @node
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
define i32 @main() gc "refcount" {
  %object = call ptr @tally_try_new(ptr @node)
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %out, label %store
store:
  %other = call ptr @tally_new(ptr @node)
  %slot = getelementptr i8, ptr %object, i64 8
  store ptr %other, ptr %slot
  ret i32 0
out:
  ret i32 1
}
