; Pattern "last use": where a way on which a root owns its object meets one on which it borrows, and the root is overwritten before
; the next safepoint, the first releases it, and the second counts nothing. A root that is emptied, or ends, is counted on both: what
; dies at the end of a function does so in an order that is promised.
; OPTIONS: operations
; CHECK: define void @overwritten
; CHECK: with:
; CHECK: call void @tally.count.own
; CHECK: call void @poke()
; CHECK: call void @tally.count.drop(ptr %{{.*}}, i32 0)
; CHECK: br label %meeting
; CHECK: without:
; CHECK-NOT: tally.count.own
; CHECK: br label %meeting
; CHECK: meeting:
; CHECK-NOT: tally.count.drop
; CHECK: store ptr %q
; CHECK: define void @emptied
; CHECK: without:
; CHECK: call void @tally.count.own
; CHECK: br label %meeting
; CHECK: meeting:
; CHECK: call void @tally.count.drop
; REMARK-DAG: in @overwritten: remark: no count: root `root` borrowed its object
@global = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @poke() nounwind

define void @overwritten(ptr %p, i1 %c) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  br i1 %c, label %with, label %without
with:
  call void @poke()
  br label %meeting
without:
  br label %meeting
meeting:
  %q = load ptr, ptr @global
  store ptr %q, ptr %root
  call void @poke()
  ret void
}
define void @emptied(ptr %p, i1 %c) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  br i1 %c, label %with, label %without
with:
  call void @poke()
  br label %meeting
without:
  br label %meeting
meeting:
  store ptr null, ptr %root
  call void @poke()
  ret void
}
