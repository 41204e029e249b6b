; Pattern "owned results": a count goes along with a result. Callers elsewhere, and those that know only the address, find a
; wrapper of the old name that lets it go. A function that the linker may replace keeps its contract; so do functions whose
; result is not certainly a reference, that end in a guaranteed tail call, or whose blocks have their address taken.
; OPTIONS: operations
; CHECK: define internal ptr @private(
; CHECK: call void @tally.count.result
; CHECK: define internal ptr @exported.owned(
; CHECK: call void @tally.count.result
; CHECK: define internal ptr @recursive.owned(
; CHECK: call ptr @recursive.owned(
; CHECK: define weak ptr @replaceable(
; CHECK-NOT: tally.count.result
; CHECK: call void @tally.count.release
; CHECK: define ptr @not_certain(
; CHECK-NOT: tally.count.result
; CHECK: call void @tally.count.release
; CHECK: define internal ptr @by_value.owned(
; CHECK: define ptr @computed_goto(
; CHECK-NOT: tally.count.result
; CHECK: define void @uses
; CHECK: call ptr @private()
; CHECK: call void @tally.count.take
; CHECK: call ptr @exported.owned()
; CHECK: define ptr @hands_on(
; CHECK: musttail call ptr @to_tail_callers()
; CHECK: define internal ptr @to_tail_callers.owned()
; CHECK: define ptr @exported()
; CHECK: call ptr @exported.owned()
; CHECK: call void @tally.count.release
; CHECK: define ptr @by_value(
; CHECK: call ptr @by_value.owned(ptr byval([4 x i64]) {{.*}}, i8 zeroext {{.*}})
; CHECK: define internal ptr @to_tail_callers()
; CHECK: call void @tally.count.release
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

@table = constant [1 x ptr] [ptr @exported]
define internal ptr @private() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define ptr @exported() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define ptr @recursive(i64 %n) nounwind gc "refcount-prompt" {
  %last = icmp eq i64 %n, 0
  br i1 %last, label %make, label %more
make:
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
more:
  %less = sub i64 %n, 1
  %p = call ptr @recursive(i64 %less)
  ret ptr %p
}
define weak ptr @replaceable() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define ptr @not_certain(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  %either = select i1 %which, ptr %p, ptr %o
  ret ptr %either
}
define ptr @by_value(ptr byval([4 x i64]) %words, i8 zeroext %x) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define ptr @computed_goto(i64 %i) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  %to = select i1 true, ptr blockaddress(@computed_goto, %one), ptr blockaddress(@computed_goto, %two)
  indirectbr ptr %to, [label %one, label %two]
one:
  ret ptr %o
two:
  ret ptr null
}
define void @uses() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  %s = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %s, ptr null)
  %a = call ptr @private()
  store ptr %a, ptr %r
  %b = call ptr @exported()
  store ptr %b, ptr %s
  call void @poke()
  ret void
}
define ptr @hands_on() nounwind gc "refcount-prompt" {
  %o = musttail call ptr @to_tail_callers()
  ret ptr %o
}
define internal ptr @to_tail_callers() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
