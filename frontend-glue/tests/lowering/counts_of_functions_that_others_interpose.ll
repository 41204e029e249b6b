; A shared library whose functions other libraries may interpose (`-fsemantic-interposition`): what the body here shows is said of no
; function that others see, and its result brings no count.
; OPTIONS: operations
; CHECK: define ptr @make
; CHECK-NOT: tally.count.result
; CHECK: define hidden i64 @hidden
; CHECK: define i64 @calls
; CHECK: call void @tally.count.own
; CHECK: call i64 @seen
; CHECK: define i64 @calls_hidden
; CHECK-NOT: tally.count
; CHECK: call i64 @hidden
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"SemanticInterposition", i32 1}

define ptr @make() nounwind gc "refcount-prompt" {
  %p = call ptr @tally_new(ptr @pair)
  ret ptr %p
}
define i64 @seen(ptr %p) nounwind gc "refcount-prompt" {
  %v = load i64, ptr %p
  ret i64 %v
}
define hidden i64 @hidden(ptr %p) nounwind gc "refcount-prompt" {
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @calls(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @seen(ptr %p)
  ret i64 %v
}
define i64 @calls_hidden(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @hidden(ptr %p)
  ret i64 %v
}
