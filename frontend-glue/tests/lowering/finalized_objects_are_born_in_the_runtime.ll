; The runtime keeps a list of young objects with finalizers, so it allocates them; those on request it hears of when they are registered.
; CHECK: define ptr @finalized
; CHECK-NOT: !prof
; CHECK: call ptr @tally_new_slow(ptr @tally.types) [ "deopt"() ]
; CHECK: define ptr @on_request
; CHECK: !prof
; CHECK: define ptr @in_reverse
; CHECK-NOT: !prof
; CHECK: call ptr @tally_new_slow(ptr getelementptr inbounds (i8, ptr @tally.types, i64 32)) [ "deopt"() ]
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [2 x i8] c"T\00"
@file = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
@asked = constant %tally_type { i32 1, i32 20, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
@last = constant %tally_type { i32 1, i32 4, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr @close, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @close(ptr)
define ptr @finalized() gc "refcount" {
  %o = call ptr @tally_new(ptr @file)
  ret ptr %o
}
define ptr @on_request() gc "refcount" {
  %o = call ptr @tally_new(ptr @asked)
  ret ptr %o
}
define ptr @in_reverse() gc "refcount" {
  %o = call ptr @tally_new(ptr @last)
  ret ptr %o
}
