; scenario 163
; An array of references as one root: described by a type descriptor, cleared whole at the entry.
; CHECK: @tally.roots = internal constant [1 x { i64, ptr, ptr, ptr }] [{ i64, ptr, ptr, ptr } { i64 {{-?[0-9]+}}, ptr @three,
; CHECK: %slots = alloca [3 x ptr]
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %slots, i8 0, i64 24, i1 false)
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %slots) ]
; OPTIMISED-DAG: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %slots) ]
; TOTAL-COUNT-1: memset.p0.i64(ptr align 8 %slots, i8 0, i64 24, i1 false)
; TOTAL-NOT: memset.p0.i64(ptr align 8 %slots, i8 0, i64 24, i1 false)
; TOTAL2-NOT: i1 false) [
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [6 x i8] c"Three\00"
@refs = private constant [3 x i32] [i32 0, i32 8, i32 16]
@three = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 3, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()

define ptr @f(ptr %p, i64 %i) gc "refcount" {
  %slots = alloca [3 x ptr]
  call void @llvm.gcroot(ptr %slots, ptr @three)
  %second = getelementptr ptr, ptr %slots, i64 1
  store ptr %p, ptr %second
  call void @poke()
  %some = getelementptr ptr, ptr %slots, i64 %i
  %o = load ptr, ptr %some
  ret ptr %o
}
