; An object whose address is returned in a word, with a tag, or beside one, is let go of when the function has ended: a drain would
; find it at zero and in flight. A root that holds it gives its count up there.
; OPTIONS: operations
; CHECK: define i64 @word
; CHECK-NOT: tally.count.release(
; CHECK-NOT: tally.count.finish
; CHECK: call void @tally.count.release_in_result(ptr %node)
; CHECK-NEXT: ret i64
; CHECK: define i64 @tagged
; CHECK: call void @tally.count.give(ptr %node, i32 0)
; CHECK: call void @tally.count.hold(ptr %node)
; CHECK: call void (...) @tally.count.finish(i64 %word)
; CHECK-NEXT: call void @tally.count.release_in_result(ptr %node)
; CHECK-NEXT: ret i64
; CHECK: define { i64, ptr } @pair
; CHECK: call void @tally.count.release_in_result(ptr %node)
; CHECK-NEXT: ret
; CHECK: define i64 @number
; CHECK: call void @tally.count.release(ptr %node)
; CHECK: call void (...) @tally.count.finish(
; CHECK-NEXT: ret i64
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

define i64 @word() nounwind gc "refcount-prompt" {
  %node = call ptr @tally_new(ptr @Node)
  %word = ptrtoint ptr %node to i64
  ret i64 %word
}
define i64 @tagged() nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %node = call ptr @tally_new(ptr @Node)
  store ptr %node, ptr %root
  call void @poke()
  %again = load ptr, ptr %root
  %bits = ptrtoint ptr %again to i64
  %word = or i64 %bits, 1
  ret i64 %word
}
define { i64, ptr } @pair() nounwind gc "refcount-prompt" {
  %node = call ptr @tally_new(ptr @Node)
  %of = insertvalue { i64, ptr } { i64 5, ptr undef }, ptr %node, 1
  ret { i64, ptr } %of
}
define i64 @number() nounwind gc "refcount-prompt" {
  %node = call ptr @tally_new(ptr @Node)
  %value = load i64, ptr %node
  ret i64 %value
}
