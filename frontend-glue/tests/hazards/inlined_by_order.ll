; Hazard: alwaysinline, which runs at -O0 too, into functions that are optnone and cold.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define internal ptr @ai(i64 %v) alwaysinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 %v)
  store ptr %b, ptr %r
  call void @churn()
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 %v)
  ret ptr %b
}
define internal void @plain() alwaysinline {
  call void @churn()
  ret void
}
define i32 @main() cold optnone noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %n, %loop ]
  %b = call ptr @ai(i64 %i)
  store ptr %b, ptr %r
  call void @plain()
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 %i)
  %n = add i64 %i, 1
  %m = icmp ult i64 %n, 5
  br i1 %m, label %loop, label %done
done:
  ret i32 0
}
