; scenario 162
; clang declares roots where the variable's scope begins. The slot moves to the entry, is empty there and each time its
; block is entered; its lifetime markers become null stores, or two roots could share one stack slot.
; CHECK: define void @f(i32 %n)
; CHECK: %r = alloca ptr, align 8
; CHECK: store ptr null, ptr %r, align 8
; CHECK: loop:
; CHECK: store ptr null, ptr %r, align 8
; CHECK: call ptr @make() [ "deopt"() ]
; CHECK: store ptr %o, ptr %r
; CHECK: call void @use(ptr %o) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @use(ptr %again) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: store ptr null, ptr %r, align 8
; CHECK-NOT: lifetime
; CHECK-NOT: gcroot
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare ptr @make()
declare void @use(ptr)

define void @f(i32 %n) gc "refcount" {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %r = alloca ptr
  call void @llvm.lifetime.start.p0(ptr %r)
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @make()
  store ptr %o, ptr %r
  call void @use(ptr %o)
  %again = load ptr, ptr %r
  call void @use(ptr %again)
  call void @llvm.lifetime.end.p0(ptr %r)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
