; Hazard: a loop with one root that calls a foreign function in each round, which calls back and collects.
; scenario 178.
; WITH: native.c
; Without the roots' names the box is lost.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare ptr @native_call(ptr, ptr)

define ptr @collect_at_times(ptr %round) gc "refcount" {
  %n = ptrtoint ptr %round to i64
  %low = and i64 %n, 15
  %now = icmp eq i64 %low, 0
  br i1 %now, label %collect, label %done
collect:
  call void @churn()
  br label %done
done:
  ret ptr %round
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %argument = inttoptr i64 %i to ptr
  %result = call ptr @native_call(ptr @collect_at_times, ptr %argument)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %back = ptrtoint ptr %result to i64
  %next = add i64 %back, 1
  %more = icmp ult i64 %next, 48
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
