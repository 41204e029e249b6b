; Hazard: ten million guaranteed self-calls, without a root and with one, in two registers and on the stack. A bundle on a
; musttail call is refused by LLVM, and a frame that stays behind overflows the stack; the callee roots what it is given.
; scenario 195.
; ZEAL: no
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i64 @count(i64 %left, i64 %sum) gc "refcount" {
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  ret i64 %sum
again:
  %less = sub i64 %left, 1
  %more = add i64 %sum, 1
  %result = musttail call i64 @count(i64 %less, i64 %more)
  ret i64 %result
}

define tailcc ptr @walk(ptr %list, i64 %left, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %done = icmp eq i64 %left, 0
  br i1 %done, label %return, label %again
return:
  call void @churn()
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
  %last = musttail call tailcc ptr @walk(ptr %kept, i64 %less, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %a)
  ret ptr %last
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %counted = call i64 @count(i64 10000000, i64 0)
  %right = icmp eq i64 %counted, 10000000
  br i1 %right, label %walk, label %wrong
wrong:
  ret i32 1
walk:
  %same = call tailcc ptr @walk(ptr %box, i64 10000000, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6)
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
