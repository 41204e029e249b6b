; Hazard: plain functions call what no one knows, by pointers and in other modules, ten million times in tail position, beside gc
; functions. Each call may be a safepoint, so it is given a bundle before anything is inlined; what is left of a function without
; roots after that keeps no frame. (At -O0 every LLVM compiler keeps the frames.)
; LEVELS: 1 2 3 s
; WRITTEN ROOTS: under the prompt plan a function of gc that calls by a pointer keeps its frame
; ZEAL: no
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
@other = global ptr @odd
@same = global ptr @even
@last = global ptr @churn

define i64 @even(i64 %left, i64 %sum) {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret i64 %sum
again:
  %less = sub i64 %left, 1
  %function = load volatile ptr, ptr @other
  %result = tail call i64 %function(i64 %less, i64 %sum)
  ret i64 %result
}
define i64 @odd(i64 %left, i64 %sum) {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  call void @collect()
  ret i64 %sum
again:
  %less = sub i64 %left, 1
  %more = add i64 %sum, 1
  %function = load volatile ptr, ptr @same
  %result = tail call i64 %function(i64 %less, i64 %more)
  ret i64 %result
}
; Inlined into functions with roots, where its call is a safepoint with their bundle.
define void @collect() {
  %function = load volatile ptr, ptr @last
  tail call void %function()
  ret void
}
; What it passes lies in its frame, which has to stay.
define void @fill(ptr %to) noinline {
  store i64 5, ptr %to
  call void @collect()
  ret void
}
define i64 @with_a_variable(i64 %left) {
  %variable = alloca i64
  call void @fill(ptr %variable)
  %value = load i64, ptr %variable
  %result = call i64 @even(i64 %left, i64 %value)
  ret i64 %result
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %sum = call i64 @even(i64 10000001, i64 0)
  call void @collect()
  %more = call i64 @with_a_variable(i64 4)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %all = add i64 %sum, %more
  %is_wrong = icmp ne i64 %all, 5000007
  %status = zext i1 %is_wrong to i32
  ret i32 %status
}
