; REFUSED: in @main: memset overwrites the word at offset 16 of the global @table, which gcwrite writes elsewhere; write null to each of its references with gcwrite (TALLY_WRITE_GLOBAL(variable, NULL))
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
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@table = global { i64, i64, ptr } zeroinitializer
define i32 @main() gc "refcount" {
  call void @llvm.memset.p0.i64(ptr @table, i8 0, i64 24, i1 false)      ; nothing stands there yet
  %object = call ptr @tally_new(ptr @node)
  %first = getelementptr { i64, i64, ptr }, ptr @table, i32 0, i32 2
  call void @llvm.gcwrite(ptr %object, ptr @table, ptr %first)
  call void @llvm.memset.p0.i64(ptr @table, i8 0, i64 16, i1 false)      ; beside the root
  call void @llvm.memset.p0.i64(ptr @table, i8 0, i64 24, i1 false)
  ret i32 0
}
