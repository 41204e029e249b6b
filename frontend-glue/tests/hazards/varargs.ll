; Hazard: a variadic managed function that reads its arguments after an epoch, and a bundled call that passes floats in %al registers.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)

define i64 @sum(i64 %count, ...) gc "refcount" {
  %list = alloca [24 x i8], align 16
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  call void @llvm.va_start.p0(ptr %list)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i64 [ 0, %0 ], [ %both, %loop ]
  %word = va_arg ptr %list, i64
  %float = va_arg ptr %list, double
  call void @churn()
  %rounded = fptosi double %float to i64
  %one = add i64 %sum, %word
  %both = add i64 %one, %rounded
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  call void @llvm.va_end.p0(ptr %list)
  call void @expect(ptr %box, i64 8)
  ret i64 %both
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %sum = call i64 (i64, ...) @sum(i64 10, i64 1, double 1.0, i64 2, double 2.0, i64 3, double 3.0, i64 4, double 4.0,
    i64 5, double 5.0, i64 6, double 6.0, i64 7, double 7.0, i64 8, double 8.0, i64 9, double 9.0, i64 10, double 10.0)
  %right = icmp eq i64 %sum, 110
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
