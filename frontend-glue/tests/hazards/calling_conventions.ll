; Hazard: bundled calls and rooted functions of every convention that a frontend may use: the map's frame and the call's
; registers must be right in each, swiftself included.
; scenario 195.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define fastcc i64 @f0(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define coldcc i64 @f1(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define tailcc i64 @f2(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define swiftcc i64 @f3(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define swifttailcc i64 @f4(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define preserve_mostcc i64 @f5(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define preserve_allcc i64 @f6(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define preserve_nonecc i64 @f7(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define x86_regcallcc i64 @f8(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define x86_vectorcallcc i64 @f9(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define win64cc i64 @f10(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}
define x86_64_sysvcc i64 @f11(i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %sum = add i64 %a, %b
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}

define swiftcc i64 @swift(ptr swiftself %self, i64 %a) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  %word = load i64, ptr %self
  %sum = add i64 %word, %a
  call void @expect(ptr %box, i64 8)
  ret i64 %sum
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %r0 = call fastcc i64 @f0(i64 0, i64 100)
  %r1 = call coldcc i64 @f1(i64 1, i64 100)
  %r2 = call tailcc i64 @f2(i64 2, i64 100)
  %r3 = call swiftcc i64 @f3(i64 3, i64 100)
  %r4 = call swifttailcc i64 @f4(i64 4, i64 100)
  %r5 = call preserve_mostcc i64 @f5(i64 5, i64 100)
  %r6 = call preserve_allcc i64 @f6(i64 6, i64 100)
  %r7 = call preserve_nonecc i64 @f7(i64 7, i64 100)
  %r8 = call x86_regcallcc i64 @f8(i64 8, i64 100)
  %r9 = call x86_vectorcallcc i64 @f9(i64 9, i64 100)
  %r10 = call win64cc i64 @f10(i64 10, i64 100)
  %r11 = call x86_64_sysvcc i64 @f11(i64 11, i64 100)
  %self = alloca i64
  store i64 5, ptr %self
  %s = call swiftcc i64 @swift(ptr swiftself %self, i64 6)
  %t0 = add i64 %s, %r0
  %t1 = add i64 %t0, %r1
  %t2 = add i64 %t1, %r2
  %t3 = add i64 %t2, %r3
  %t4 = add i64 %t3, %r4
  %t5 = add i64 %t4, %r5
  %t6 = add i64 %t5, %r6
  %t7 = add i64 %t6, %r7
  %t8 = add i64 %t7, %r8
  %t9 = add i64 %t8, %r9
  %t10 = add i64 %t9, %r10
  %t11 = add i64 %t10, %r11
  %right = icmp eq i64 %t11, 1277
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
