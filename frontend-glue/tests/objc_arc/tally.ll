; The functions of objc.ll as a frontend of Tally writes them.
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@Box = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@global = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @loud() nounwind
declare i64 @reads(ptr) nounwind nocallback nofree
declare void @uses(ptr) nounwind
define i64 @nothing_between(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @quiet_call(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @reads(ptr %p)
  ret i64 %v
}
define void @held_across_calls(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @uses(ptr %p)
  call void @uses(ptr %p)
  ret void
}
define i64 @in_a_loop(ptr %p, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  store ptr %p, ptr %r
  %v = load volatile i64, ptr %p
  store ptr null, ptr %r
  %j = add i64 %i, 1
  %m = icmp ult i64 %j, %n
  br i1 %m, label %loop, label %end
end:
  ret i64 %i
}
define i64 @diamond(ptr %p, i1 %c) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br i1 %c, label %a, label %b
a:
  ret i64 1
b:
  %v = load i64, ptr %p
  ret i64 %v
}
define internal ptr @make() nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @Box)
  ret ptr %o
}
define internal ptr @returned() nounwind gc "refcount-prompt" {
  %o = call ptr @make()
  ret ptr %o
}
define void @to_a_global(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %p, ptr @global, ptr @global)
  ret void
}
define i64 @two_holders(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  %s = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %s, ptr null)
  store ptr %p, ptr %r
  store ptr %p, ptr %s
  call void @loud()
  %v = load i64, ptr %p
  ret i64 %v
}
define void @of_null() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr null, ptr %r
  call void @loud()
  ret void
}
