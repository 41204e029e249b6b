; Pattern "quiet calls": a function that writes no reference, allocates nothing and calls only what is quiet is no safepoint
; to the counts, also if it calls itself; so are leaves, which may write references, and functions that never call back and free
; nothing. One that only promises not to call this module may be another's, and let objects die. One loud callee is enough to make its
; callers loud.
; OPTIONS: operations
; CHECK: define internal i64 @length
; CHECK-NOT: tally.count
; CHECK: define internal i64 @loud
; CHECK: define i64 @quiet
; CHECK-NOT: tally.count
; CHECK: define i64 @recursive
; CHECK-NOT: tally.count
; CHECK: define i64 @calls_a_leaf
; CHECK-NOT: tally.count.own
; CHECK: call i64 @strlen
; CHECK-NOT: tally.count.drop
; CHECK: call void (...) @tally.count.finish
; CHECK: define void @never_called_back
; CHECK-NOT: tally.count
; CHECK: define void @never_called_back_but_managed_perhaps
; CHECK: call void @tally.count.own
; CHECK: define i64 @loud_by_a_callee
; CHECK: call void @tally.count.own
; CHECK: define void @unknown
; CHECK: call void @tally.count.own
; REMARK-DAG: in @quiet: remark: no count: root `r` borrows across this call, in which nothing is released
; REMARK-DAG: in @quiet: remark: no count: root `r` borrowed its object
; REMARK-DAG: in @recursive: remark: no count: root `r` borrows across this call
; REMARK-DAG: in @recursive: remark: no count: root `r` borrowed its object
; REMARK-DAG: in @calls_a_leaf: remark: no count: root `r` borrowed its object
; REMARK-DAG: in @never_called_back: remark: no count: root `r` borrows across this call
; REMARK-DAG: in @never_called_back: remark: no count: root `r` borrowed its object
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @poke() nounwind
declare i64 @strlen(ptr) nounwind "gc-leaf-function"

define internal i64 @length(ptr %p) gc "refcount-prompt" {
  %v = load i64, ptr %p
  ret i64 %v
}
define internal i64 @loud(ptr %p) nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  call void @poke()
  ret i64 0
}
define i64 @quiet(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @length(ptr %p)
  ret i64 %v
}
define i64 @recursive(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %next = load ptr, ptr %p
  %v = call i64 @recursive(ptr %next)
  ret i64 %v
}
define i64 @calls_a_leaf(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @strlen(ptr %p)
  ret i64 %v
}
define void @never_called_back(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke() nocallback nofree
  ret void
}
define void @never_called_back_but_managed_perhaps(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke() nocallback
  ret void
}
define i64 @loud_by_a_callee(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %v = call i64 @loud(ptr %p)
  ret i64 %v
}
define void @unknown(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  ret void
}
