; Hazard: gcroot of an alloca in a loop's body. Its address escapes, so that calls outside must name it, too.
; scenario 162.
; Without the mitigation a slot is named where it does not exist yet.
; WITHOUT hoisted-roots at 0: does not dominate
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @keep(ptr %slot) noinline gc "refcount" {
  call void @churn()
  ret void
}

define i32 @main() gc "refcount" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @churn()
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %i)
  store ptr %box, ptr %root
  call void @keep(ptr %root)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %i)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
