; Hazard: intrinsics are no safepoints, also those that become calls of a library: memcpy, sin, stack saving, frame addresses, assume.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @llvm.sin.f64(double)
declare double @llvm.pow.f64(double, double)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
declare ptr @llvm.frameaddress.p0(i32)
declare ptr @llvm.returnaddress(i32)
declare void @llvm.assume(i1)
declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
@size = global i64 40000
@number = global double 0.0

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %stack = call ptr @llvm.stacksave.p0()
  %size = load i64, ptr @size
  %big = alloca i8, i64 %size
  call void @llvm.memset.p0.i64(ptr %big, i8 1, i64 %size, i1 false)
  call void @churn()
  %half = lshr i64 %size, 1
  %middle = getelementptr i8, ptr %big, i64 %half
  call void @llvm.memcpy.p0.p0.i64(ptr %middle, ptr %big, i64 %half, i1 false)
  call void @llvm.stackrestore.p0(ptr %stack)
  %number = load double, ptr @number
  %sin = call double @llvm.sin.f64(double %number)
  %pow = call double @llvm.pow.f64(double %sin, double 1.5)
  call void @churn()
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %back = call ptr @llvm.returnaddress(i32 0)
  call void @llvm.assume(i1 true) [ "nonnull"(ptr %box), "align"(ptr %box, i64 8) ]
  call void @llvm.prefetch.p0(ptr %box, i32 0, i32 3, i32 1)
  %sum = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %size, i64 1)
  %low = extractvalue { i64, i1 } %sum, 0
  %bits = call i64 @llvm.ctpop.i64(i64 %low)
  call void @churn()
  %zero = fcmp oeq double %pow, 0.0
  br i1 %zero, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
