; scenario 123
; Before a guaranteed tail call the frame goes away: roots let go, and what died with them dies before the callee runs, but for
; its arguments.
; OPTIONS: operations
; CHECK: define void @on
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: call void (...) @tally.count.finish(ptr %o, i64 %less)
; CHECK: musttail call void @on(ptr %o, i64 %less)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)

define void @on(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  call void @llvm.gcwrite(ptr %o, ptr %p, ptr %p)
  %less = sub i64 %n, 1
  musttail call void @on(ptr %o, i64 %less)
  ret void
}
