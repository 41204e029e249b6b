; Hazard: indirect calls, with and without "gc-leaf-function" at the call, of null-checked and of computed functions; native code that calls back.
; WITH: native.c
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare ptr @native_call(ptr, ptr)
@table = global [2 x ptr] [ptr @one, ptr @two]

define ptr @one(ptr %argument) gc "refcount" {
  call void @churn()
  ret ptr %argument
}

define ptr @two(ptr %argument) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %argument, ptr %root
  %again = call ptr @native_call(ptr @one, ptr %argument)
  call void @churn()
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define ptr @dispatch(i64 %index, ptr %argument) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %argument, ptr %root
  %at = getelementptr ptr, ptr @table, i64 %index
  %function = load ptr, ptr %at
  %first = call ptr %function(ptr %argument)
  %second = call ptr @native_call(ptr %function, ptr %argument)
  %kept = load ptr, ptr %root
  ret ptr %kept
}

define i64 @leaf(i64 %x) noinline "gc-leaf-function" {
  %y = mul i64 %x, 3
  ret i64 %y
}
@leaf.pointer = global ptr @leaf

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %a = call ptr @dispatch(i64 0, ptr %box)
  %b = call ptr @dispatch(i64 1, ptr %box)
  %leaf = load ptr, ptr @leaf.pointer
  %nine = call i64 %leaf(i64 3) "gc-leaf-function"
  %direct = call i64 @leaf(i64 %nine)
  %right = icmp eq i64 %direct, 27
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
