; Two phis change places in a loop in which a root is filled and a safepoint stands: the verifier comes to an end, and neither
; is accused, since a root may hold both.
; CHECK: define i64 @f
declare void @llvm.gcroot(ptr, ptr)
declare ptr @make()
declare void @poke()
define i64 @f(ptr %first, i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  %other = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %other, ptr null)
  store ptr %first, ptr %other
  br label %loop
loop:
  %one = phi ptr [ %first, %entry ], [ %two, %loop ]
  %two = phi ptr [ %first, %entry ], [ %one, %loop ]
  %i = phi i64 [ 0, %entry ], [ %more, %loop ]
  call void @poke()
  store ptr %one, ptr %r
  store ptr %two, ptr %other
  call void @poke()
  %x = load i64, ptr %one
  %y = load i64, ptr %two
  %sum = add i64 %x, %y
  %more = add i64 %i, 1
  %again = icmp slt i64 %more, %n
  br i1 %again, label %loop, label %done
done:
  ret i64 %sum
}
