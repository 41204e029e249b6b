; The body of @take stands in @outer, which other modules call. As its result brings a count, a wrapper of its name is all that calls
; it in the end, and it is a leaf itself: the mark where @take has ended goes, and the wrapper looks for what has died.
; (The module was refused: the mark was left over.)
; OPTIONS: plan=refcount-prompt patterns=all operations
; CHECK-LABEL: define internal ptr @outer.owned(
; CHECK-NOT: tally.count.left
; CHECK-NOT: tally.count.due
; CHECK: call void @tally.count.result(
; CHECK-LABEL: define ptr @outer(
; CHECK: call ptr @outer.owned(
; CHECK: call i1 @tally.count.due(i32 0)
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)

define ptr @outer(ptr %from) nounwind gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %taken = call ptr @take(ptr %from)
  store ptr %taken, ptr %root
  %result = load ptr, ptr %root
  ret ptr %result
}

define internal ptr @take(ptr %list) nounwind gc "refcount" {
  %first = load ptr, ptr %list
  %rest = load ptr, ptr %first
  call void @llvm.gcwrite(ptr %rest, ptr %list, ptr %list)
  ret ptr %first
}
