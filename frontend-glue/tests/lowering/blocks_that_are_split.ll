; Splitting blocks keeps what refers to them: phis of successors, a loop of one block, block addresses.
; CHECK: store ptr blockaddress(@f, %again)
; CHECK: again:
; CHECK: %i = phi i32 [ 0, %entry ], [ %j, %{{-?[0-9]+}} ]
; CHECK: %o = phi ptr
; CHECK: indirectbr ptr %to, [label %again, label %out]
; CHECK: out:
; CHECK: %sum = phi i32 [ %j, %{{-?[0-9]+}} ]
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke()

define i32 @f(i32 %n) gc "refcount" {
entry:
  %target = alloca ptr
  store ptr blockaddress(@f, %again), ptr %target
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %j, %again ]
  %o = call ptr @tally_new(ptr @pair)
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  %to = select i1 %more, ptr blockaddress(@f, %again), ptr blockaddress(@f, %out)
  indirectbr ptr %to, [label %again, label %out]
out:
  %sum = phi i32 [ %j, %again ]
  ret i32 %sum
}
