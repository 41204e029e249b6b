; Two references are carried in a vector over a call.
; verify: sits in no root at the safepoint `call @work`
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
define i32 @main() gc "refcount" {
  %a = call ptr @make()
  %one = insertelement <2 x ptr> zeroinitializer, ptr %a, i32 0
  call void @work()
  %again = extractelement <2 x ptr> %one, i32 0
  %x = load volatile i64, ptr %again
  ret i32 0
}
