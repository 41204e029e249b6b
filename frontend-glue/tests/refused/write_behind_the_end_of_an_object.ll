; REFUSED: in @main: gcwrite at offset 24 of an object of @pair, which has 24 bytes; write to a field
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [1 x i32] [i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
declare ptr @malloc(i64)
define i32 @main() gc "refcount" {
  %object = call ptr @tally_new(ptr @pair)
  %slot = getelementptr i8, ptr %object, i64 24
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %slot)
  ret i32 0
}
