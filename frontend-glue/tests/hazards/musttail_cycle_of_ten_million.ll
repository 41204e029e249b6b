; Hazard: guaranteed tail calls in a circle of three functions, one through a pointer, ten million in all.
; scenario 123.
; ZEAL: no
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define tailcc ptr @a(ptr %list, i64 %left, [6 x i64] %more) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %now = urem i64 %left, 2500000
  %stop = icmp eq i64 %now, 0
  br i1 %stop, label %collect, label %next
collect:
  call void @churn()
  br label %next
next:
  %less = sub i64 %left, 1
  %kept = load ptr, ptr %root
  %r = musttail call tailcc ptr @b(ptr %kept, i64 %less, [6 x i64] %more)
  ret ptr %r
}
define tailcc ptr @b(ptr %list, i64 %left, [6 x i64] %more) gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [100 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %done = icmp sle i64 %left, 0
  br i1 %done, label %return, label %again
return:
  call void @churn()
  %result = load ptr, ptr %root
  ret ptr %result
again:
  %f = load ptr, ptr @third
  %kept = load ptr, ptr %root
  %less = sub i64 %left, 1
  %r = musttail call tailcc ptr %f(i64 %less, ptr %kept, [6 x i64] %more)
  ret ptr %r
}
@third = global ptr @c
define tailcc ptr @c(i64 %left, ptr %list, [6 x i64] %more) gc "refcount" {
  %r = musttail call tailcc ptr @a(ptr %list, i64 %left, [6 x i64] %more)
  ret ptr %r
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %same = call tailcc ptr @a(ptr %box, i64 10000000, [6 x i64] zeroinitializer)
  call void @expect(ptr %same, i64 7)
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
