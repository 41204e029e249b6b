; Hazard: LLVM's passes put calls of the C library where there were others, or none: bcmp for memcmp, putchar and puts for
; printf, strlen for a loop. They carry no bundle, and a verifier that knew no better refused the program.
; scenario 185.
; Without the roots' names the box is lost.
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"
declare i32 @printf(ptr, ...) "gc-leaf-function"
declare i32 @sprintf(ptr, ptr, ...) "gc-leaf-function"
declare double @pow(double, double) "gc-leaf-function"

@text = global [6 x i8] c"texts\00"
@same = global [6 x i8] c"texts\00"
@line = private constant [6 x i8] c"right\0A"
@line.format = private constant [7 x i8] c"right\0A\00"
@letter = private constant [2 x i8] c"\0A\00"
@plain = private constant [3 x i8] c"%s\00"
@two = global double 2.0

define i32 @main() gc "refcount" {
entry:
  %root = alloca ptr
  %buffer = alloca [16 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @churn()
  %differ = call i32 @memcmp(ptr @text, ptr @same, i64 6)
  %a = icmp ne i32 %differ, 0
  %p1 = call i32 (ptr, ...) @printf(ptr @line.format)
  %p2 = call i32 (ptr, ...) @printf(ptr @letter)
  %p3 = call i32 (ptr, ptr, ...) @sprintf(ptr %buffer, ptr @plain, ptr @text)
  %two = load double, ptr @two
  %power = call double @pow(double 2.0, double %two)
  %b = fcmp une double %power, 4.0
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i8, ptr %buffer, i64 %i
  %next = add nuw i64 %i, 1
  %byte = load i8, ptr %at
  %end = icmp eq i8 %byte, 0
  br i1 %end, label %counted, label %loop
counted:
  %c = icmp ne i64 %i, 5
  call void @expect(ptr %box, i64 7)
  %ab = or i1 %a, %b
  %abc = or i1 %ab, %c
  %status = zext i1 %abc to i32
  ret i32 %status
}
