; What a write takes out of a field may be returned: its count goes to the caller, by way of the root that has it meanwhile. An index
; that is no constant does not hinder that, if load and write compute the address in the same way, and no write comes between.
; Without such a root nothing says that the result is a reference on every way.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-1: call void @tally.count.keep(
; TOTAL-NOT: call void @tally.count.keep(
; CHECK: define internal ptr @pop(
; CHECK: call void @tally.count.keep(ptr %top)
; CHECK: call void @tally.count.take(ptr %top, i32 0)
; CHECK: call void @tally.count.give(ptr %top, i32 0)
; CHECK-NEXT: call void @tally.count.hold(ptr %top)
; CHECK-NEXT: store ptr null, ptr %root
; CHECK-NOT: tally.count.drop
; CHECK: call void @tally.count.spend(ptr %top)
; CHECK-NEXT: call void @tally.count.result(ptr %top)
; CHECK: define internal ptr @pop_without_a_root(
; CHECK-NOT: tally.count.keep
; CHECK-NOT: tally.count.result
; CHECK: define internal ptr @build(
; CHECK: call void @tally.count.give(ptr %object, i32 0)
; CHECK-NEXT: call void @tally.count.hold(ptr %object)
; CHECK-NOT: tally.count.drop
; CHECK-NOT: tally.count.increment
; CHECK: call void @tally.count.result(ptr %object)
; CHECK: define internal ptr @of_another_index(
; CHECK: define internal ptr @after_another_write(
; CHECK: define void @moves(
; CHECK: %node = call ptr @pop(
; CHECK-NOT: drain
; CHECK: store ptr %node, ptr %tally.argument.0
; CHECK: call void @push(
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @push(ptr, ptr) nounwind
declare void @any() nounwind

define internal ptr @pop(ptr %stacks, i32 %which) nounwind noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %index = sext i32 %which to i64
  %at = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 %index
  %top = load ptr, ptr %at
  store ptr %top, ptr %root
  %next = load ptr, ptr %top
  %index.again = sext i32 %which to i64
  %at.again = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 %index.again
  call void @llvm.gcwrite(ptr %next, ptr %stacks, ptr %at.again)
  %result = load ptr, ptr %root
  store ptr null, ptr %root
  ret ptr %result
}

define internal ptr @pop_without_a_root(ptr %list) nounwind noinline gc "refcount" {
  %top = load ptr, ptr %list
  %next = load ptr, ptr %top
  call void @llvm.gcwrite(ptr %next, ptr %list, ptr %list)
  ret ptr %top
}

define internal ptr @build() nounwind noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @pair)
  store ptr %object, ptr %root
  call void @any()
  %result = load ptr, ptr %root
  store ptr null, ptr %root
  ret ptr %result
}

define internal ptr @of_another_index(ptr %stacks, i64 %one, i64 %other) nounwind noinline gc "refcount" {
  %at = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 %one
  %top = load ptr, ptr %at
  %elsewhere = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 %other
  call void @llvm.gcwrite(ptr null, ptr %stacks, ptr %elsewhere)
  ret ptr %top
}

define internal ptr @after_another_write(ptr %stacks, i64 %which, ptr %value) nounwind noinline gc "refcount" {
  %at = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 %which
  %top = load ptr, ptr %at
  %first = getelementptr [2 x ptr], ptr %stacks, i64 0, i64 1
  call void @llvm.gcwrite(ptr %value, ptr %stacks, ptr %first)
  call void @llvm.gcwrite(ptr null, ptr %stacks, ptr %at)
  call void @llvm.gcwrite(ptr %top, ptr %value, ptr %value)
  ret ptr null
}

define void @moves(ptr %stacks) nounwind gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %stacks, ptr %root
  %node = call ptr @pop(ptr %stacks, i32 1)
  %again = load ptr, ptr %root
  call void @push(ptr %again, ptr %node)
  %built = call ptr @build()
  %last = call ptr @pop_without_a_root(ptr %built)
  ret void
}
