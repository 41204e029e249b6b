; Either of two references is needed after a call.
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
entry:
  %c = call i1 @coin()
  br i1 %c, label %one, label %two
one:
  %a = call ptr @make()
  br label %join
two:
  %b = call ptr @make()
  br label %join
join:
  %o = phi ptr [ %a, %one ], [ %b, %two ]
  call void @work()
  %x = load volatile i64, ptr %o
  ret i32 0
}
define i1 @coin() {
  ret i1 true
}
