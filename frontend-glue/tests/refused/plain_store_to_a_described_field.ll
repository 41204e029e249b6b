; REFUSED: in @main: a reference is stored plainly to an object, at offset 8 of @node, which is a reference; write references into objects with llvm.gcwrite
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
; The program printed 0 for 42 under the prompt plan.
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr %root
  %other = call ptr @tally_new(ptr @node)
  store i32 42, ptr %other
  %again = load ptr, ptr %root
  %slot = getelementptr i8, ptr %again, i64 8
  store ptr %other, ptr %slot
  call void @tally_collect()
  ret i32 0
}
