; Two phis take the same values, and a root may be said to hold either: it is said of the first in the program, so that the same
; module gives the same code each time, wherever LLVM keeps its values in memory. A drain protects the other ones.
; OPTIONS: operations
; CHECK: call void (...) @tally.count.drain(ptr %second.0, ptr %second.1, ptr %second.2, ptr %second.3, ptr %second.4, ptr %second.5)
; CHECK-NEXT: call void @use(
declare void @llvm.gcroot(ptr, ptr)
declare ptr @make()
declare void @use(ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr)

define void @f(i1 %which) nounwind gc "refcount-prompt" {
entry:
  %r0 = alloca ptr
  %r1 = alloca ptr
  %r2 = alloca ptr
  %r3 = alloca ptr
  %r4 = alloca ptr
  %r5 = alloca ptr
  call void @llvm.gcroot(ptr %r0, ptr null)
  call void @llvm.gcroot(ptr %r1, ptr null)
  call void @llvm.gcroot(ptr %r2, ptr null)
  call void @llvm.gcroot(ptr %r3, ptr null)
  call void @llvm.gcroot(ptr %r4, ptr null)
  call void @llvm.gcroot(ptr %r5, ptr null)
  br i1 %which, label %one, label %other
one:
  %a0 = call ptr @make()
  store ptr %a0, ptr %r0
  %a1 = call ptr @make()
  store ptr %a1, ptr %r1
  %a2 = call ptr @make()
  store ptr %a2, ptr %r2
  %a3 = call ptr @make()
  store ptr %a3, ptr %r3
  %a4 = call ptr @make()
  store ptr %a4, ptr %r4
  %a5 = call ptr @make()
  store ptr %a5, ptr %r5
  br label %both
other:
  %b0 = call ptr @make()
  store ptr %b0, ptr %r0
  %b1 = call ptr @make()
  store ptr %b1, ptr %r1
  %b2 = call ptr @make()
  store ptr %b2, ptr %r2
  %b3 = call ptr @make()
  store ptr %b3, ptr %r3
  %b4 = call ptr @make()
  store ptr %b4, ptr %r4
  %b5 = call ptr @make()
  store ptr %b5, ptr %r5
  br label %both
both:
  %first.0 = phi ptr [ %a0, %one ], [ %b0, %other ]
  %second.0 = phi ptr [ %a0, %one ], [ %b0, %other ]
  %first.1 = phi ptr [ %a1, %one ], [ %b1, %other ]
  %second.1 = phi ptr [ %a1, %one ], [ %b1, %other ]
  %first.2 = phi ptr [ %a2, %one ], [ %b2, %other ]
  %second.2 = phi ptr [ %a2, %one ], [ %b2, %other ]
  %first.3 = phi ptr [ %a3, %one ], [ %b3, %other ]
  %second.3 = phi ptr [ %a3, %one ], [ %b3, %other ]
  %first.4 = phi ptr [ %a4, %one ], [ %b4, %other ]
  %second.4 = phi ptr [ %a4, %one ], [ %b4, %other ]
  %first.5 = phi ptr [ %a5, %one ], [ %b5, %other ]
  %second.5 = phi ptr [ %a5, %one ], [ %b5, %other ]
  call void @use(ptr %first.0, ptr %first.1, ptr %first.2, ptr %first.3, ptr %first.4, ptr %first.5, ptr %second.0, ptr %second.1, ptr %second.2, ptr %second.3, ptr %second.4, ptr %second.5)
  ret void
}
