; Hazard: behind the second return of setjmp LLVM takes what a variable held before the call for what it holds: a root that was
; stored to in between is read as it was, and its old object may be dead.
; WRITTEN ROOTS: after longjmp a variable that is no root has no defined value
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn "gc-leaf-function"
@buffer = global [200 x i8] zeroinitializer, align 16
@times = global i64 0

define void @jump() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 99)
  store ptr %box, ptr %root
  call void @churn()
  call void @longjmp(ptr @buffer, i32 1)
  unreachable
}
define i32 @main() gc "refcount" {
entry:
  %root = alloca ptr
  %pair = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @llvm.gcroot(ptr %pair, ptr @two)
  %first = call ptr @box(i64 77)
  store ptr %first, ptr %root
  %second.at = getelementptr ptr, ptr %pair, i64 1
  store ptr %first, ptr %second.at
  %again = call i32 @_setjmp(ptr @buffer) returns_twice
  %times = load i64, ptr @times
  %more = add i64 %times, 1
  store i64 %more, ptr @times
  %go = icmp slt i64 %more, 5
  br i1 %go, label %on, label %end
on:
  %box = call ptr @box(i64 %more)
  store ptr %box, ptr %root
  store ptr %box, ptr %second.at
  call void @churn()
  call void @jump()
  br label %end
end:
  call void @churn()
  %last = load ptr, ptr %root
  call void @expect(ptr %last, i64 4)
  %second = load ptr, ptr %second.at
  call void @expect(ptr %second, i64 4)
  ret i32 0
}
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@two.name = private constant [4 x i8] c"two\00"
@two.refs = private constant [2 x i32] [i32 0, i32 8]
@two = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @two.refs, i64 0, i64 0, ptr null, ptr @two.name, ptr null, ptr null, ptr null, ptr null }
