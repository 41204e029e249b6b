; h(f(), g()): the result of f() is in no root while g() runs.
; WARNING-DAG: situation.ll: in @wrong: the reference %a from @make sits in no root at the safepoint `call @make` and is used after it, by `call @h`; its object may be freed there: store the reference to a root slot (llvm.gcroot) before the safepoint, and load it from there afterwards
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)

declare void @h(ptr, ptr)
define ptr @make() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  ret ptr %o
}
define void @wrong() gc "refcount" {
  %a = call ptr @make()
  %b = call ptr @make()
  call void @h(ptr %a, ptr %b)
  ret void
}
define void @right() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %a = call ptr @make()
  store ptr %a, ptr %r
  %b = call ptr @make()
  %c = load ptr, ptr %r
  call void @h(ptr %c, ptr %b)
  ret void
}
define void @right_too() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %a = call ptr @make()
  store ptr %a, ptr %r
  %b = call ptr @make()
  call void @h(ptr %a, ptr %b)
  ret void
}
