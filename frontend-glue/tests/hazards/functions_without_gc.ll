; Hazard: functions without gc between rooted ones, on the stack and as callers of leaves; their frames must be walkable, too.
; scenario 171.
; WITHOUT frame-pointers at 2: lost|signal|tally:
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i64 @plain(i64 %depth, i64 %a, i64 %b) noinline {
  %space = alloca [10 x i64]
  %at = getelementptr i64, ptr %space, i64 %a
  store volatile i64 %b, ptr %at
  %bottom = icmp eq i64 %depth, 0
  br i1 %bottom, label %collect, label %inner
collect:
  call void @churn()
  br label %done
inner:
  %less = sub i64 %depth, 1
  %x = call i64 @rooted(i64 %less, i64 %a, i64 %b)
  br label %done
done:
  %y = load volatile i64, ptr %at
  ret i64 %y
}

define i64 @rooted(i64 %depth, i64 %a, i64 %b) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %depth)
  store ptr %box, ptr %root
  %result = call i64 @plain(i64 %depth, i64 %a, i64 %b)
  call void @expect(ptr %box, i64 %depth)
  ret i64 %result
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %x = call i64 @plain(i64 12, i64 3, i64 4)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
