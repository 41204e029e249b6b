; OPTIONS: plan=refcount-prompt
; Objects whose finalizers run in reverse order have numbers, which the runtime gives them; others with finalizers are allocated inline.
; CHECK: define internal ptr @finalized.owned
; CHECK: !prof
; CHECK: define internal ptr @in_reverse.owned
; CHECK-NOT: !prof
; CHECK: call ptr @tally_new_slow(ptr getelementptr inbounds (i8, ptr @tally.types, i64 16))
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [2 x i8] c"T\00"
@file = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
@last = constant %tally_type { i32 1, i32 4, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @close(ptr)
define ptr @finalized() gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @file)
  ret ptr %o
}
define ptr @in_reverse() gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @last)
  ret ptr %o
}
