; No function of the program has a strategy, so that none has roots, and one uses what it has made after a safepoint.
; verify: the reference %o from @tally_new
; zeal: `Pair`
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs,
                               i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)

define void @work() {
  %o = call ptr @tally_new(ptr @pair)
  ret void
}
define i64 @helper() {
  %o = call ptr @tally_new(ptr @pair)
  call void @work()
  %field = getelementptr i8, ptr %o, i64 8
  %x = load volatile i64, ptr %field
  ret i64 %x
}
define i32 @main() {
  %x = call i64 @helper()
  %status = trunc i64 %x to i32
  ret i32 %status
}
