; A function that settles more than 64 words calls functions that do so, one for all roots of the same references; they are compiled once a
; module, and stop nowhere. A function of few has inline code.
; OPTIONS: plan=refcount-prompt
; CHECK: define void @few
; CHECK-NOT: tally.settle
; CHECK: define void @many
; CHECK: call void @tally.settle.0(ptr %v, ptr %tally.counted.v)
; CHECK-NOT: preserve_mostcc void @tally_count
; CHECK: call void @poke()
; CHECK: call void @tally.unsettle.1(ptr %tally.counted.v)
; CHECK: define void @many_again
; CHECK: call void @tally.settle.0(ptr %v, ptr %tally.counted.v)
; CHECK: call void @tally.settle.0(ptr %w, ptr %tally.counted.w)
; CHECK: define internal void @tally.settle.0(ptr %0, ptr %1) #[[ATTRIBUTES:[0-9]+]]
; CHECK: load i64, ptr %0
; CHECK: load i64, ptr %1
; CHECK: add i8 {{.*}}, 1
; CHECK: add i8 {{.*}}, -1
; CHECK: ret void
; CHECK: define internal void @tally.unsettle.1(ptr %0) #[[ATTRIBUTES]]
; CHECK-NOT: define internal void @tally.{{(un)?}}settle
; CHECK: attributes #[[ATTRIBUTES]] = { noinline nounwind {{.*}}"frame-pointer"="all" "gc-leaf-function"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @poke() nounwind
declare void @show(ptr) nounwind

define void @few() nounwind gc "refcount-prompt" {
  %v = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %v, ptr @pair)
  call void @show(ptr %v)
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  ret void
}
define void @many() nounwind gc "refcount-prompt" {
  %v = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %v, ptr @pair)
  call void @show(ptr %v)
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  ret void
}
define void @many_again() nounwind gc "refcount-prompt" {
  %v = alloca [2 x ptr]
  %w = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %v, ptr @pair)
  call void @llvm.gcroot(ptr %w, ptr @pair)
  call void @show(ptr %v)
  call void @show(ptr %w)
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  call void @poke()
  ret void
}
