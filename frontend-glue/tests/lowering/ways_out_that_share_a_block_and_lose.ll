; The same ways out, and a safepoint between the last root and the return: the warning stays.
; WARNING-DAG: in @lost: the reference %o from @tally_new sits in no root at the safepoint `call @poke` and is used after it
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare i64 @kind()
declare void @poke()

define ptr @lost() gc "refcount" {
entry:
  %c = alloca ptr
  %result = alloca ptr
  %way = alloca i32
  call void @llvm.gcroot(ptr %c, ptr null)
  br label %loop
loop:
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %c
  %kind = call i64 @kind()
  %is_dead = icmp eq i64 %kind, 1
  br i1 %is_dead, label %dead, label %alive
dead:
  call void @poke()
  store i32 2, ptr %way
  br label %out
alive:
  %found = load ptr, ptr %c
  store ptr %found, ptr %result
  store ptr null, ptr %c
  call void @poke()
  store i32 1, ptr %way
  br label %out
out:
  %w = load i32, ptr %way
  switch i32 %w, label %return [ i32 2, label %loop ]
return:
  %r = load ptr, ptr %result
  ret ptr %r
}
