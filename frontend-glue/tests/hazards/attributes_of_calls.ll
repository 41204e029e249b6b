; Hazard: a call that is rebuilt with a bundle must keep what it says: conventions, zeroext, range, noundef, cold, nomerge, metadata, fast-math.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define zeroext i8 @narrow(i8 zeroext %x) noinline gc "refcount" {
  call void @churn()
  %y = add i8 %x, 1
  ret i8 %y
}

define nofpclass(nan) double @number(double %x) noinline gc "refcount" {
  call void @churn()
  %y = fadd double %x, 1.0
  ret double %y
}

define noalias nonnull dereferenceable(16) align 8 ptr @fresh() noinline gc "refcount" {
  call void @churn()
  %box = call ptr @box(i64 9)
  ret ptr %box
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %n = notail call zeroext range(i8 1, 0) i8 @narrow(i8 zeroext 254) nomerge cold
  %f = call nnan ninf double @number(double noundef 2.0), !fpmath !0
  %p = call noalias nonnull dereferenceable(16) align 8 ptr @fresh() noinline nounwind
  call void @expect(ptr %p, i64 9)
  %wide = zext i8 %n to i64
  %g = fptoui double %f to i64
  %sum = add i64 %wide, %g
  %right = icmp eq i64 %sum, 258
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}

!0 = !{float 2.5}
