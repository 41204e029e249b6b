; Hazard: intrinsics that look at the frame: stack maps of the frontend's own, setjmp of LLVM's own, escaping locals.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @llvm.experimental.stackmap(i64, i32, ...)
declare i32 @llvm.eh.sjlj.setjmp(ptr)
declare ptr @llvm.frameaddress.p0(i32)
declare ptr @llvm.stacksave.p0()
declare void @llvm.localescape(...)
define i32 @mapped() noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 77, i32 0, ptr %r, ptr %b, i64 5)
  call void @churn()
  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 78, i32 0, ptr %r, ptr %b, i64 5)
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 4)
  ret i32 0
}
define i32 @jumped() noinline gc "refcount" {
  %buf = alloca [5 x ptr], align 16
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  %fa = call ptr @llvm.frameaddress.p0(i32 0)
  store ptr %fa, ptr %buf
  %ss = call ptr @llvm.stacksave.p0()
  %a2 = getelementptr ptr, ptr %buf, i64 2
  store ptr %ss, ptr %a2
  %x = call i32 @llvm.eh.sjlj.setjmp(ptr %buf)
  call void @churn()
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 4)
  ret i32 0
}
define i32 @escaped() noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void (...) @llvm.localescape(ptr %r)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  call void @churn()
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 4)
  ret i32 0
}
define i32 @main() gc "refcount" {
  %a = call i32 @mapped()
  %b = call i32 @jumped()
  %c = call i32 @escaped()
  ret i32 0
}
