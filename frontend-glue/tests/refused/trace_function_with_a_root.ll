; REFUSED: in @main: @pair: the trace function @read has roots, and is called in the middle of a collection; let it read the words that it is given, and root nothing
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@pair = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 3, i64 0, i64 0, i64 0, i32 0, i32 0,
  ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr @read, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)
define void @read(ptr %words, i64 %n, ptr %visit, ptr %context) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %word = load ptr, ptr %words
  store ptr %word, ptr %root
  call void %visit(ptr %word, ptr %context)
  ret void
}
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
