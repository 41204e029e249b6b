; A write that replaces what was loaded from its field keeps that count (`keep`): it goes to a root that borrows the object, to another
; field, or to an argument of the next safepoint. It does so only if no call, and no write at the same offset, lies between load and
; write, and if the count has somewhere to go.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-5: call void @tally.count.keep(
; TOTAL-NOT: call void @tally.count.keep(
; CHECK: define void @to_a_root(
; CHECK: call void @tally.count.keep(ptr %first)
; CHECK: call void @llvm.gcwrite(ptr %next, ptr %list, ptr %list)
; CHECK: call void @tally.count.spend(ptr %first)
; CHECK-NEXT: call void @tally.count.take(ptr %first, i32 0)
; CHECK: define void @to_another_field(
; CHECK: call void @tally.count.keep(ptr %first)
; CHECK: call void @tally.count.spend(ptr %first)
; CHECK-NEXT: call void @llvm.gcwrite(ptr %first, ptr %other, ptr %other)
; CHECK: define void @to_an_argument(
; CHECK: call void @tally.count.keep(ptr %first)
; CHECK: store ptr %first, ptr %tally.argument.0
; CHECK: call void @elsewhere(ptr %first)
; CHECK: call void @tally.count.drop(
; CHECK: define void @past_an_exception(
; CHECK: store ptr %first, ptr %tally.argument.0
; CHECK: invoke void @may_throw(ptr %first)
; CHECK: landingpad
; CHECK: call void @tally.count.drop(
; CHECK: define void @through_gcread(
; CHECK: call void @tally.count.keep(ptr %first)
; CHECK: define void @after_a_call(
; CHECK: define void @of_another_object_at_the_same_offset(
; CHECK: define void @for_nothing(
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare void @elsewhere(ptr) nounwind
declare void @may_throw(ptr)
declare void @any() nounwind

define void @to_a_root(ptr %list) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %first = load ptr, ptr %list
  store ptr %first, ptr %root
  %next = load ptr, ptr %first
  call void @llvm.gcwrite(ptr %next, ptr %list, ptr %list)
  call void @any()
  ret void
}

define void @to_another_field(ptr %list, ptr %other) gc "refcount" {
  %first = load ptr, ptr %list
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @llvm.gcwrite(ptr %first, ptr %other, ptr %other)
  ret void
}

define void @to_an_argument(ptr %list) gc "refcount" {
  %at = getelementptr i8, ptr %list, i64 8
  %first = load ptr, ptr %at
  %same = getelementptr i8, ptr %list, i64 8
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %same)
  br label %further

further:
  call void @elsewhere(ptr %first)
  ret void
}

define void @past_an_exception(ptr %list) gc "refcount" {
  %first = load ptr, ptr %list
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @may_throw(ptr %first)
  ret void
}

define void @through_gcread(ptr %list, ptr %other) gc "refcount" {
  %first = call ptr @llvm.gcread(ptr %list, ptr %list)
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @llvm.gcwrite(ptr %first, ptr %other, ptr %other)
  ret void
}

define void @after_a_call(ptr %list, ptr %other) gc "refcount" {
  %list.root = alloca ptr
  %other.root = alloca ptr
  %root = alloca ptr
  call void @llvm.gcroot(ptr %list.root, ptr null)
  call void @llvm.gcroot(ptr %other.root, ptr null)
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %list.root
  store ptr %other, ptr %other.root
  %first = load ptr, ptr %list
  store ptr %first, ptr %root
  call void @any()
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @llvm.gcwrite(ptr %first, ptr %other, ptr %other)
  ret void
}

define void @of_another_object_at_the_same_offset(ptr %list, ptr %other) gc "refcount" {
  %first = load ptr, ptr %list
  call void @llvm.gcwrite(ptr null, ptr %other, ptr %other)
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @llvm.gcwrite(ptr %first, ptr %other, ptr %other)
  ret void
}

define void @for_nothing(ptr %list) gc "refcount" {
  %first = load ptr, ptr %list
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @any()
  ret void
}

define void @at_an_address_computed_from_itself(ptr %list) nounwind gc "refcount" {
  ret void
unreached:
  %address = getelementptr i8, ptr %address, i64 8
  %first = load ptr, ptr %address
  call void @llvm.gcwrite(ptr null, ptr %address, ptr %address)
  br label %unreached
}
