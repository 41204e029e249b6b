; A pair of references is carried in one value over a call.
; verify: the reference %both from @two
; zeal: `Pair`
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs,
                               i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)

define ptr @make() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define void @work() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret void
}
define { ptr, ptr } @two() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %a = call ptr @make()
  store ptr %a, ptr %root
  %b = call ptr @make()
  %one = insertvalue { ptr, ptr } poison, ptr %a, 0
  %both = insertvalue { ptr, ptr } %one, ptr %b, 1
  ret { ptr, ptr } %both
}
define i32 @main() gc "refcount" {
  %both = call { ptr, ptr } @two()
  call void @work()
  %a = extractvalue { ptr, ptr } %both, 0
  %x = load volatile i64, ptr %a
  ret i32 0
}
