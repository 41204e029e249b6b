; Hazard: a slot that a path reaches without a store holds what an earlier call left on the stack.
; scenarios 163, 184.
; Without the null at the entry the collector counts a misaligned address in the heap.
; WITHOUT empty-roots at 0: signal
; WRITTEN ROOTS: a variable holds a pointer into an object
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @leave_rubbish(ptr %object) noinline gc "refcount" {
  %rubbish = alloca [64 x ptr]
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %at = getelementptr ptr, ptr %rubbish, i64 %i
  %inside = getelementptr i8, ptr %object, i64 16777213
  store volatile ptr %inside, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @sometimes(i1 %store) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  br i1 %store, label %fill, label %join
fill:
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  br label %join
join:
  call void @churn()
  %kept = load ptr, ptr %root
  %empty = icmp eq ptr %kept, null
  br i1 %empty, label %done, label %check
check:
  call void @expect(ptr %kept, i64 8)
  br label %done
done:
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @leave_rubbish(ptr %box)
  call void @sometimes(i1 false)
  call void @sometimes(i1 true)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
