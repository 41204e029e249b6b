; A NaN-boxed value in an i64: the descriptor says how the word is read; writes go through tally_gcwrite_i64.
; CHECK: %v = alloca i64
; CHECK: store i64 0, ptr %v
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %v, i64 {{-?[0-9]+}}, ptr %base) ]
; CHECK: %shifted = lshr i64 %word, 9
; CHECK: call preserve_mostcc void @tally_log_slow(ptr %p, ptr %slot)
; CHECK: store i64 %word, ptr %slot
; CHECK-NOT: tally_gcwrite_i64
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@boxed = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 2, i64 -281474976710656, i64 -1125899906842624, i64 281474976710655, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @poke()
declare void @note(i64)

define i64 @f(i64 %w, ptr %p) gc "refcount" {
  %v = alloca i64
  %base = alloca ptr
  call void @llvm.gcroot(ptr %v, ptr @boxed)
  call void @llvm.gcroot(ptr %base, ptr null)
  store i64 %w, ptr %v
  store ptr %p, ptr %base
  call void @poke()
  %word = load i64, ptr %v
  %shifted = lshr i64 %word, 9
  %slot = getelementptr i8, ptr %p, i64 8
  call void @tally_gcwrite_i64(i64 %word, ptr %p, ptr %slot)
  ret i64 %shifted
}
