; Hazard: plain functions that reach no managed code call each other ten million times in tail position, beside gc functions. A
; bundle at such a call would keep its frame, and the stack overflows. They are inlined into functions with roots, too.
; (At -O0 every LLVM compiler keeps the frames.)
; LEVELS: 1 2 3 s
; ZEAL: no
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @putchar(i32)
@calls = global i64 0

define i64 @even(i64 %left, i64 %sum) {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret i64 %sum
again:
  %calls = load volatile i64, ptr @calls
  %more = add i64 %calls, 1
  store volatile i64 %more, ptr @calls
  %less = sub i64 %left, 1
  %result = tail call fastcc i64 @odd(i64 %less, i64 %sum)
  ret i64 %result
}
define internal fastcc i64 @odd(i64 %left, i64 %sum) noinline {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  %nothing = tail call i32 @quiet(i32 1)
  ret i64 %sum
again:
  %three = urem i64 %left, 3
  %is.third = icmp eq i64 %three, 0
  %less = sub i64 %left, 1
  br i1 %is.third, label %third, label %other
third:
  %result.of.third = tail call i64 @third(i64 %less, i64 %sum)
  ret i64 %result.of.third
other:
  %result = tail call i64 @even(i64 %less, i64 %sum)
  ret i64 %result
}
define i64 @third(i64 %left, i64 %sum) noinline {
  %more = add i64 %sum, 1
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret i64 %more
again:
  %result = tail call i64 @even(i64 %left, i64 %more)
  ret i64 %result
}
define i32 @quiet(i32 %byte) noinline {
  %wrong = icmp eq i32 %byte, 0
  br i1 %wrong, label %say, label %done
say:
  %said = tail call i32 @putchar(i32 63)
  ret i32 %said
done:
  ret i32 0
}
; This one reaches managed code by a pointer: a call of it keeps the roots.
define void @by_pointer(ptr %function) {
  tail call void %function()
  ret void
}
; And this one is in a circle with one that does.
define void @round(i64 %left) {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  tail call void @by_pointer(ptr @churn)
  ret void
again:
  tail call void @about(i64 %left)
  ret void
}
define void @about(i64 %left) {
  %less = sub i64 %left, 1
  tail call void @round(i64 %less)
  ret void
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %sum = call i64 @even(i64 10000000, i64 0)
  call void @round(i64 3)
  call void @by_pointer(ptr @churn)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %none = icmp eq i64 %sum, 0
  %status = zext i1 %none to i32
  ret i32 %status
}
