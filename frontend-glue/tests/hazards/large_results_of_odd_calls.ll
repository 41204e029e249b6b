; Hazard: results that need a thunk, of calls that are variadic, take structs by value and wide integers, or are marked tail.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @llvm.va_start.p0(ptr)
define [5 x i64] @v(i64 %n, ...) noinline gc "refcount" {
  %l = alloca [24 x i8], align 16
  call void @llvm.va_start.p0(ptr %l)
  call void @churn()
  %w = va_arg ptr %l, i64
  %f = va_arg ptr %l, double
  %i = fptosi double %f to i64
  %s = add i64 %w, %i
  %r = insertvalue [5 x i64] zeroinitializer, i64 %s, 4
  ret [5 x i64] %r
}
define i32 @first() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  %x = call [5 x i64] (i64, ...) @v(i64 2, i64 30, double 12.0)
  %s = extractvalue [5 x i64] %x, 4
  %bad = icmp ne i64 %s, 42
  call void @churn()
  call void @expect(ptr %b, i64 4)
  %z = zext i1 %bad to i32
  ret i32 %z
}
define [5 x i64] @w(ptr byval([9 x i64]) %in, i128 %w) noinline gc "refcount" {
  call void @churn()
  %l = load i64, ptr %in
  %t = trunc i128 %w to i64
  %s = add i64 %l, %t
  %r = insertvalue [5 x i64] zeroinitializer, i64 %s, 4
  ret [5 x i64] %r
}
define i32 @second() gc "refcount" {
  %r = alloca ptr
  %in = alloca [9 x i64]
  store i64 30, ptr %in
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  %x = tail call [5 x i64] @w(ptr byval([9 x i64]) %in, i128 12)
  %s = extractvalue [5 x i64] %x, 4
  %bad = icmp ne i64 %s, 42
  call void @churn()
  call void @expect(ptr %b, i64 4)
  %z = zext i1 %bad to i32
  ret i32 %z
}
define i32 @main() gc "refcount" {
  %a = call i32 @first()
  %b = call i32 @second()
  %both = or i32 %a, %b
  ret i32 %both
}
