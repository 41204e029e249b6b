; Ways that a frontend has joined at the end of a scope, with a number that says where each goes on, stay joined. A root is counted only
; behind them, on the way that meets a safepoint: the early return counts nothing.
; OPTIONS: plan=refcount-prompt patterns=all operations
; CHECK: define i32 @scope
; CHECK-NOT: tally.count
; CHECK: switch i32 %where
; CHECK: next:
; CHECK: call void @tally.count.own(
; CHECK: call void @any()
; CHECK: ret i32 2
; CHECK: return:
; CHECK-NOT: tally.count
; CHECK: ret i32 %result
; CHECK: define i32 @by_a_condition
; CHECK: br i1 %goes_on
; CHECK: return:
; CHECK-NOT: tally.count
; CHECK: ret i32
; CHECK: define i32 @head_of_a_loop
; CHECK: switch i32 %state
; CHECK: define i32 @meeting_that_works
; CHECK: switch i32 %where
; CHECK: define void @end_of_file
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare void @any() nounwind
declare void @leaf() nounwind "gc-leaf-function"

define i32 @scope(ptr %object, i1 %which) nounwind gc "refcount" {
entry:
  %root = alloca ptr
  %inner = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @llvm.gcroot(ptr %inner, ptr null)
  store ptr %object, ptr %root
  store ptr %object, ptr %inner
  br i1 %which, label %early, label %late
early:
  br label %cleanup
late:
  br label %cleanup
cleanup:
  %where = phi i32 [ 1, %early ], [ 0, %late ]
  %early.result = phi i32 [ 1, %early ], [ undef, %late ]
  call void @llvm.lifetime.end.p0(ptr %inner)
  switch i32 %where, label %return [ i32 0, label %next ]
next:
  call void @any()
  br label %return
return:
  %result = phi i32 [ %early.result, %cleanup ], [ 2, %next ]
  call void @llvm.lifetime.end.p0(ptr %root)
  ret i32 %result
}

define i32 @by_a_condition(ptr %object, i1 %which) nounwind gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br i1 %which, label %early, label %late
early:
  br label %cleanup
late:
  br label %cleanup
cleanup:
  %goes_on = phi i1 [ false, %early ], [ true, %late ]
  br i1 %goes_on, label %next, label %return
next:
  call void @any()
  br label %return
return:
  %result = phi i32 [ 1, %cleanup ], [ 2, %next ]
  ret i32 %result
}

define i32 @head_of_a_loop(ptr %object) nounwind gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br label %head
head:
  %state = phi i32 [ 0, %entry ], [ 1, %first ], [ 2, %second ]
  switch i32 %state, label %done [ i32 0, label %first
                                   i32 1, label %second ]
first:
  call void @any()
  br label %head
second:
  call void @any()
  br label %head
done:
  ret i32 0
}

define i32 @meeting_that_works(ptr %object, i1 %which) nounwind gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br i1 %which, label %early, label %late
early:
  br label %cleanup
late:
  br label %cleanup
cleanup:
  %where = phi i32 [ 1, %early ], [ 0, %late ]
  call void @leaf()
  switch i32 %where, label %return [ i32 0, label %next ]
next:
  call void @any()
  br label %return
return:
  ret i32 0
}
define void @end_of_file() gc "refcount" {
  ret void
}
