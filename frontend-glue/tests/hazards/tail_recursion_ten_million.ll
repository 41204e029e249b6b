; Hazard: ten million self-calls in tail position, without a root and with one. A bundle keeps LLVM from making a loop of them,
; so the loop must be made before the bundles; else the stack overflows. (At -O0 every LLVM compiler keeps the frames.)
; LEVELS: 1 2 3 s
; ZEAL: no
; WITHOUT tail-recursion at 2: signal|stack
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@calls = global i64 0

define void @count(i64 %left) gc "refcount" {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret void
again:
  %calls = load volatile i64, ptr @calls
  %more = add i64 %calls, 1
  store volatile i64 %more, ptr @calls
  %less = sub i64 %left, 1
  tail call void @count(i64 %less)
  ret void
}

define ptr @walk(ptr %list, i64 %left) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  %result = load ptr, ptr %root
  ret ptr %result
again:
  %now = urem i64 %left, 2500000
  %stop = icmp eq i64 %now, 0
  br i1 %stop, label %collect, label %next
collect:
  call void @churn()
  br label %next
next:
  %less = sub i64 %left, 1
  %kept = load ptr, ptr %root
  %last = call ptr @walk(ptr %kept, i64 %less)
  ret ptr %last
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @count(i64 10000000)
  %calls = load i64, ptr @calls
  %right = icmp eq i64 %calls, 10000000
  br i1 %right, label %walk, label %wrong
wrong:
  ret i32 1
walk:
  %same = call ptr @walk(ptr %box, i64 10000000)
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
