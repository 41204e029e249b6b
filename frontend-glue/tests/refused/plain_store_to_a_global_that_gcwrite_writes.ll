; REFUSED: in @replace: a reference is stored plainly to the global @table, which gcwrite writes elsewhere; write to it with gcwrite each time
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
@table = global [4 x ptr] zeroinitializer
define void @set(ptr %value, i64 %index) gc "refcount" {
  %slot = getelementptr [4 x ptr], ptr @table, i64 0, i64 %index
  call void @llvm.gcwrite(ptr %value, ptr @table, ptr %slot)
  ret void
}
define void @replace() gc "refcount" {
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr getelementptr (i8, ptr @table, i64 8)
  ret void
}
define i32 @main() gc "refcount" {
  call void @set(ptr null, i64 1)
  call void @replace()
  ret i32 0
}
