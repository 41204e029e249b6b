; scenario 132
; Tail recursion becomes a loop before counts are placed: its roots are null where the function is entered, and the loop lets
; go of what the round before left.
; OPTIONS: tail-calls operations
; CHECK: define void @walk
; CHECK: %r = alloca ptr
; CHECK: store ptr null, ptr %r
; CHECK: tailrecurse:
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @poke() nounwind

define void @walk(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %end = icmp eq i64 %n, 0
  br i1 %end, label %done, label %more
more:
  %less = sub i64 %n, 1
  %o = load ptr, ptr %r
  call void @walk(ptr %o, i64 %less)
  ret void
done:
  ret void
}
