; Hazard: indirectbr and switch in loops, and setjmp: what a call returns twice to is a leaf, and all roots are named after it.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare i32 @setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn "gc-leaf-function"
@state = global i64 0
define void @threaded(i64 %n) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %table = alloca [3 x ptr]
  store ptr blockaddress(@threaded, %one), ptr %table
  %t1 = getelementptr ptr, ptr %table, i64 1
  store ptr blockaddress(@threaded, %two), ptr %t1
  %t2 = getelementptr ptr, ptr %table, i64 2
  store ptr blockaddress(@threaded, %done), ptr %t2
  br label %dispatch
dispatch:
  %i = phi i64 [ 0, %0 ], [ %i1, %one ], [ %i2, %two ]
  %more = icmp ult i64 %i, %n
  %which = and i64 %i, 1
  %index = select i1 %more, i64 %which, i64 2
  %at = getelementptr ptr, ptr %table, i64 %index
  %target = load ptr, ptr %at
  indirectbr ptr %target, [ label %one, label %two, label %done ]
one:
  %box = call ptr @box(i64 %i)
  store ptr %box, ptr %root
  %i1 = add i64 %i, 1
  br label %dispatch
two:
  call void @churn()
  %kept = load ptr, ptr %root
  %before = sub i64 %i, 1
  call void @expect(ptr %kept, i64 %before)
  %i2 = add i64 %i, 1
  br label %dispatch
done:
  ret void
}
define void @switched(i64 %n) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  br label %dispatch
dispatch:
  %i = phi i64 [ 0, %0 ], [ %next, %end ]
  %which = urem i64 %i, 3
  switch i64 %which, label %other [ i64 0, label %make i64 1, label %collect ]
make:
  %box = call ptr @box(i64 %i)
  store ptr %box, ptr %root
  br label %end
collect:
  call void @churn()
  br label %end
other:
  %kept = load ptr, ptr %root
  %before = sub i64 %i, 2
  call void @expect(ptr %kept, i64 %before)
  br label %end
end:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %dispatch, label %done
done:
  ret void
}
define void @again() noinline gc "refcount" {
  %buffer = alloca [400 x i8], align 16
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 5)
  store ptr %box, ptr %root
  %count = alloca i64
  store volatile i64 0, ptr %count
  %back = call i32 @setjmp(ptr %buffer) returns_twice
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 5)
  %c = load volatile i64, ptr %count
  %c1 = add i64 %c, 1
  store volatile i64 %c1, ptr %count
  %more = icmp ult i64 %c1, 3
  br i1 %more, label %jump, label %done
jump:
  call void @longjmp(ptr %buffer, i32 1)
  unreachable
done:
  ret void
}
define i32 @main() gc "refcount" {
  call void @threaded(i64 6)
  call void @switched(i64 9)
  call void @again()
  ret i32 0
}
