; Returns that the frontend has joined are separate again: the path without a safepoint counts no root, only the other does.
; OPTIONS: plan=refcount-prompt patterns=all operations
; So are those with a load of the result in front, and a way without a safepoint that comes to them by two meetings.
; TOTAL-COUNT-2: call void @tally.count.own(
; TOTAL-NOT: call void @tally.count.own(
; CHECK: define i32 @either(
; CHECK: quick:
; CHECK-NEXT: ret i32 1
; CHECK: slow:
; CHECK: call void @tally.count.own(
; CHECK: call void @any()
; CHECK: call void @tally.count.drop(
; CHECK: ret i32 2
; CHECK: define ptr @either_of_two
; CHECK: early:
; CHECK-NOT: tally.count
; CHECK: ret ptr null
; CHECK: quick:
; CHECK-NOT: tally.count
; CHECK: ret ptr
; CHECK: slow:
; CHECK: call void @tally.count.own(
; CHECK: call void @any()
; CHECK: call void @tally.count.drop(
; CHECK: ret ptr
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

define ptr @either_of_two(ptr %object, i1 %is_early, i1 %which) nounwind gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br i1 %is_early, label %early, label %late
early:
  br label %return
late:
  br i1 %which, label %quick, label %slow
quick:
  br label %both
slow:
  call void @any()
  br label %both
both:
  %field = load ptr, ptr %root
  br label %return
return:
  %result = phi ptr [ null, %early ], [ %field, %both ]
  ret ptr %result
}
