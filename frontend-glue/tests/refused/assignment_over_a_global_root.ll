; REFUSED: in @replace: memcpy or an assignment overwrites the word at offset 0 of the global @table, which gcwrite writes elsewhere; write each of its references with gcwrite (TALLY_WRITE_GLOBAL)
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
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@table = global { ptr, i64, i64 } zeroinitializer
define void @replace(ptr %other) gc "refcount" {
  %numbers = getelementptr i8, ptr @table, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %numbers, ptr %other, i64 16, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr @table, ptr %other, i64 24, i1 false)
  ret void
}
define i32 @main() gc "refcount" {
  %object = call ptr @tally_new(ptr @node)
  call void @llvm.gcwrite(ptr %object, ptr @table, ptr @table)
  call void @replace(ptr @table)
  ret i32 0
}
