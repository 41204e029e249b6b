; Zeal: the stop behind an invoke stands in a block of its own, and names the roots that are live there, also in a function whose blocks
; were looked at before, for its writes.
; OPTIONS: zeal
; CHECK: define ptr @f(ptr %p)
; CHECK: unwind label %pad
; CHECK: call void @tally_zeal_safepoint(ptr %tally.in_flight1, i64 8, ptr @.tally.site{{.*}}) [ "deopt"(i64 {{-?[0-9]+}}, ptr %root) ]
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @g(ptr)
declare i32 @__gxx_personality_v0(...)
define ptr @f(ptr %p) gc "refcount" personality ptr @__gxx_personality_v0 {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %new = call ptr @tally_new(ptr @pair)
  call void @llvm.gcwrite(ptr %new, ptr %new, ptr %new)
  store ptr %new, ptr %root
  %x = invoke ptr @g(ptr %new) to label %next unwind label %pad
next:
  %kept = load ptr, ptr %root
  ret ptr %kept
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
