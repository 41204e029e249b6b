; Hazard: calls of leaves stay bare and may be tail calls, memory(none) or speculated; safepoints around them keep their roots.
; scenario 185.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare i64 @labs(i64) nounwind willreturn memory(none) "gc-leaf-function"
declare ptr @strchr(ptr, i32) "gc-leaf-function"
@text = global [4 x i8] c"abc\00"

define ptr @tail(ptr %text) gc "refcount" {
  call void @churn()
  %at = tail call ptr @strchr(ptr %text, i32 99)
  ret ptr %at
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %c = call ptr @tail(ptr @text)
  %letter = load i8, ptr %c
  %wide = sext i8 %letter to i64
  %a = call i64 @labs(i64 -5)
  call void @churn()
  %b = call i64 @labs(i64 %wide)
  %sum = add i64 %a, %b
  %right = icmp eq i64 %sum, 104
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
