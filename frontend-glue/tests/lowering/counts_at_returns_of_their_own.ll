; Returns that the frontend has joined are separate again: the path without a safepoint counts no root, only the other does.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-1: call void @tally.count.own(
; TOTAL-NOT: call void @tally.count.own(
; CHECK: define i32 @either(
; CHECK: quick:
; CHECK-NEXT: ret i32 1
; CHECK: slow:
; CHECK: call void @tally.count.own(
; CHECK: call void @any()
; CHECK: call void @tally.count.drop(
; CHECK: ret i32 %result
declare void @llvm.gcroot(ptr, ptr)
declare void @any() nounwind

define i32 @either(ptr %object, i1 %which) nounwind gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br i1 %which, label %quick, label %slow
quick:
  br label %return
slow:
  call void @any()
  br label %return
return:
  %result = phi i32 [ 1, %quick ], [ 2, %slow ]
  ret i32 %result
}
