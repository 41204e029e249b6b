; Hazard: sret, byval, inreg, nest, zeroext, i128, x86_fp80, vectors and twenty words on the stack, beside a bundle.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

%wide = type { i64, i64, i64, i64, i64 }

define void @callee(ptr sret(%wide) align 8 %out, ptr byval(%wide) align 8 %in, i64 inreg %a, i8 zeroext %b, i128 %c, x86_fp80 %d,
                    <8 x float> %e, <2 x i64> %f, i1 signext %g, double %h, [20 x i64] %i) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %w = load i64, ptr %in
  store i64 100, ptr %in
  %b64 = zext i8 %b to i64
  %c64 = trunc i128 %c to i64
  %d64 = fptosi x86_fp80 %d to i64
  %e7 = extractelement <8 x float> %e, i64 7
  %e64 = fptosi float %e7 to i64
  %f1 = extractelement <2 x i64> %f, i64 1
  %g64 = sext i1 %g to i64
  %h64 = fptosi double %h to i64
  %i19 = extractvalue [20 x i64] %i, 19
  %s1 = add i64 %w, %a
  %s2 = add i64 %s1, %b64
  %s3 = add i64 %s2, %c64
  %s4 = add i64 %s3, %d64
  %s5 = add i64 %s4, %e64
  %s6 = add i64 %s5, %f1
  %s7 = add i64 %s6, %g64
  %s8 = add i64 %s7, %h64
  %s9 = add i64 %s8, %i19
  %last = getelementptr %wide, ptr %out, i64 0, i32 4
  store i64 %s9, ptr %last
  call void @expect(ptr %box, i64 8)
  ret void
}

define i64 @nested(ptr nest %chain, i64 %x) noinline gc "refcount" {
  call void @churn()
  %y = load i64, ptr %chain
  %z = add i64 %x, %y
  ret i64 %z
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %in = alloca %wide, align 8
  %out = alloca %wide, align 8
  store i64 1, ptr %in
  %array = insertvalue [20 x i64] zeroinitializer, i64 9, 19
  call void @callee(ptr sret(%wide) align 8 %out, ptr byval(%wide) align 8 %in, i64 inreg 2, i8 zeroext 3, i128 4, x86_fp80 0xK4001A000000000000000,
    <8 x float> <float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 0.0, float 6.0>, <2 x i64> <i64 0, i64 7>,
    i1 signext true, double 8.0, [20 x i64] %array)
  %at = getelementptr %wide, ptr %out, i64 0, i32 4
  %sum = load i64, ptr %at
  %in.first = load i64, ptr %in
  %twice = call i64 @nested(ptr nest %in, i64 %sum)
  %both = add i64 %twice, %in.first
  %right = icmp eq i64 %both, 46
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
