; REFUSED: in @main: @pair: ref_types names the address 16 in place of a type descriptor
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@types = private constant [2 x ptr] [ptr null, ptr inttoptr (i64 16 to ptr)]
@pair = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0,
  ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr @types, ptr null }
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret i32 0
}
