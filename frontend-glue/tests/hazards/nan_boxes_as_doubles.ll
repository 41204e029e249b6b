; Hazard: a NaN box goes about as a double, in a phi, a select, a variable or a vector, or as two halves, while only its root keeps it.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@Boxed.refs = private constant [1 x i32] zeroinitializer
@Boxed.name = private constant [6 x i8] c"Boxed\00"
@Boxed = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 2, i64 -281474976710656, i64 -1125899906842624,
    i64 281474976710655, i32 1, i32 0, ptr @Boxed.refs, i64 0, i64 0, ptr null, ptr @Boxed.name, ptr null, ptr null, ptr null, ptr null }

@zero = global i1 false
define double @make(i64 %v) noinline gc "refcount" {
  %box = call ptr @box(i64 %v)
  %w = ptrtoint ptr %box to i64
  %b = or i64 %w, -1125899906842624
  %d = bitcast i64 %b to double
  ret double %d
}
define void @check(double %d, i64 %v) noinline "gc-leaf-function" {
  %b = bitcast double %d to i64
  %w = and i64 %b, 281474976710655
  %p = inttoptr i64 %w to ptr
  call void @expect(ptr %p, i64 %v)
  ret void
}
define void @phi(i64 %v, i1 %c) noinline gc "refcount" {
  %root = alloca double
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  br i1 %c, label %a, label %b
a:
  %x = load double, ptr %root
  br label %b
b:
  %p = phi double [ %x, %a ], [ 0.0, %0 ]
  call void @churn()
  br i1 %c, label %e, label %f
e:
  call void @check(double %p, i64 %v)
  ret void
f:
  ret void
}
define void @select(i64 %v, i1 %c) noinline gc "refcount" {
  %root = alloca double
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  %x = load double, ptr %root
  %p = select i1 %c, double %x, double 0.0
  call void @churn()
  call void @check(double %p, i64 %v)
  ret void
}
define void @variable(i64 %v) noinline gc "refcount" {
  %var = alloca double
  %root = alloca double
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  %x = load double, ptr %root
  store double %x, ptr %var
  call void @churn()
  %y = load double, ptr %var
  call void @churn()
  call void @check(double %y, i64 %v)
  ret void
}
define void @vector(i64 %v) noinline gc "refcount" {
  %root = alloca double
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  %x = load double, ptr %root
  %vec = insertelement <2 x double> zeroinitializer, double %x, i64 1
  call void @churn()
  %y = extractelement <2 x double> %vec, i64 1
  call void @check(double %y, i64 %v)
  ret void
}
define void @bytes(i64 %v) noinline gc "refcount" {
  %root = alloca double
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  %x = load double, ptr %root
  %vec = bitcast double %x to <8 x i8>
  call void @churn()
  %y = bitcast <8 x i8> %vec to double
  call void @check(double %y, i64 %v)
  ret void
}
define void @halves(i64 %v) noinline gc "refcount" {
  %root = alloca i64
  call void @llvm.gcroot(ptr %root, ptr @Boxed)
  %d = call double @make(i64 %v)
  store double %d, ptr %root
  %x = load i64, ptr %root
  %lo = trunc i64 %x to i32
  %h = lshr i64 %x, 32
  %hi = trunc i64 %h to i32
  call void @churn()
  %lo64 = zext i32 %lo to i64
  %hi64 = zext i32 %hi to i64
  %hs = shl i64 %hi64, 32
  %w = or i64 %hs, %lo64
  %y = bitcast i64 %w to double
  call void @check(double %y, i64 %v)
  ret void
}
define i32 @main() gc "refcount" {
  call void @phi(i64 1, i1 true)
  call void @select(i64 2, i1 true)
  call void @variable(i64 3)
  call void @vector(i64 4)
  call void @bytes(i64 5)
  call void @halves(i64 6)
  ret i32 0
}
