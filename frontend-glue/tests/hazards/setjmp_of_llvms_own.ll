; Hazard: LLVM's own setjmp returns twice, which its declaration does not say. A root that is read behind the second return only is needed
; at all calls in between.
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @llvm.eh.sjlj.setjmp(ptr)
declare void @llvm.eh.sjlj.longjmp(ptr)
declare ptr @llvm.frameaddress.p0(i32)
declare ptr @llvm.stacksave.p0()
@buffer = global [5 x ptr] zeroinitializer

define void @jump() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 99)
  store ptr %box, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 99)
  call void @llvm.eh.sjlj.longjmp(ptr @buffer)
  unreachable
}
define i32 @main() gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 41)
  store ptr %box, ptr %root
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  store ptr %frame, ptr @buffer
  %stack = call ptr @llvm.stacksave.p0()
  store ptr %stack, ptr getelementptr (i8, ptr @buffer, i64 16)
  %again = call i32 @llvm.eh.sjlj.setjmp(ptr @buffer)
  %is.first = icmp eq i32 %again, 0
  br i1 %is.first, label %first, label %second
first:
  call void @churn()
  call void @jump()
  unreachable
second:
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 41)
  ret i32 0
}
