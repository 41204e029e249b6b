; Pattern "held parameters": a parameter that a root of each caller holds while the call lasts, or that is null or the caller's own
; held parameter, is in no root of the function. It is counted where one caller has it from a field, where the caller's root is overwritten
; before the call, or lent, and where the function is called from elsewhere.
; OPTIONS: operations
; CHECK: define internal void @held(ptr %p)
; CHECK-NOT: alloca
; CHECK-NOT: tally.count
; CHECK: call void @poke(ptr %p)
; CHECK: ret void
; CHECK: define internal void @passes_on(ptr %p)
; CHECK-NOT: tally.count
; CHECK: ret void
; CHECK: define internal void @emptied
; CHECK: call void @tally.count.own
; CHECK: define internal void @from_a_field
; CHECK: call void @tally.count.own
; CHECK: define internal void @overwritten
; CHECK: call void @tally.count.own
; CHECK: define internal void @lent
; CHECK: call void @tally.count.own
; CHECK: define void @known_elsewhere
; CHECK: call void @tally.count.own
; CHECK: define void @caller
; CHECK: call void @tally.count.own(ptr %{{.*}}, i32 0)
; CHECK: call void @held
declare void @llvm.gcroot(ptr, ptr)
declare void @poke(ptr) nounwind
declare void @store_to(ptr) nounwind

define internal void @held(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  %kept = load ptr, ptr %root
  call void @poke(ptr %kept)
  store ptr null, ptr %root
  ret void
}
define internal void @passes_on(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @held(ptr %p)
  call void @held(ptr null)
  ret void
}
define internal void @emptied(ptr %p, i1 %c) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  br i1 %c, label %empty, label %on
empty:
  store ptr null, ptr %root
  br label %on
on:
  %kept = load ptr, ptr %root
  call void @poke(ptr %kept)
  ret void
}
define internal void @from_a_field(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @poke(ptr %p)
  ret void
}
define internal void @overwritten(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @poke(ptr %p)
  ret void
}
define internal void @lent(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @poke(ptr %p)
  ret void
}
define void @known_elsewhere(ptr %p) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  call void @poke(ptr %p)
  ret void
}
define void @caller(ptr %p, i1 %c) nounwind gc "refcount-prompt" {
  %root = alloca ptr
  %other = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @llvm.gcroot(ptr %other, ptr null)
  store ptr %p, ptr %root
  call void @held(ptr %p)
  call void @passes_on(ptr %p)
  call void @emptied(ptr %p, i1 %c)
  call void @from_a_field(ptr %p)
  %field = load ptr, ptr %p
  call void @from_a_field(ptr %field)
  store ptr %p, ptr %other
  call void @store_to(ptr %other)
  store ptr null, ptr %root
  %lent = load ptr, ptr %other
  call void @lent(ptr %lent)
  %second = getelementptr i8, ptr %p, i64 8
  %last = load ptr, ptr %second
  store ptr %last, ptr %root
  store ptr null, ptr %root
  call void @overwritten(ptr %last)
  ret void
}
