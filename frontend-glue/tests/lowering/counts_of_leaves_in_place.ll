; Pattern "inlined leaves": a small leaf with plain roots stands in place of its calls, and is gone. Its roots become null where it
; returned, the last first, and a stop stands behind it. A leaf that is marked noinline stays.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-NOT: define internal ptr @take
; TOTAL-NOT: call void (...) @tally.count.left
; CHECK: define internal void @stays
; CHECK: define void @caller(
; CHECK-NOT: tally.count.increment
; CHECK-NOT: tally.count.release
; CHECK: call void @tally.count.keep(ptr %[[TAKEN:.*]])
; CHECK: call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
; CHECK: call void @tally.count.give(ptr %[[TAKEN]], i32 {{.*}})
; CHECK-NEXT: call void @tally.count.hold(ptr %[[TAKEN]])
; CHECK-NEXT: store ptr null, ptr %
; CHECK: call i1 @tally.count.due(i32 0)
; CHECK: call void (...) @tally.count.stop(ptr %
; CHECK: call void @tally.count.spend(ptr %[[TAKEN]])
; CHECK-NEXT: call void @llvm.gcwrite(ptr %{{.*}}, ptr %to, ptr %to)
; CHECK: call void @stays(ptr %to)
; CHECK-NEXT: call i1 @tally.count.due(i32 0)
; CHECK: define void @outer(
; CHECK: call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
; CHECK-NEXT: store ptr null, ptr %second
; CHECK-NEXT: store ptr null, ptr %first
; CHECK: call i1 @tally.count.due(i32 0)
; CHECK: define void @end_of_file
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @any() nounwind

define internal ptr @take(ptr %list) nounwind gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %first = load ptr, ptr %list
  store ptr %first, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  %result = load ptr, ptr %root
  ret ptr %result
}
define internal void @stays(ptr %list) noinline nounwind gc "refcount" {
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  ret void
}
define internal void @take_both(ptr %list) nounwind gc "refcount" {
  %first = alloca ptr
  call void @llvm.gcroot(ptr %first, ptr null)
  %second = alloca ptr
  call void @llvm.gcroot(ptr %second, ptr null)
  store ptr %list, ptr %first
  store ptr %list, ptr %second
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  ret void
}

define void @caller(ptr %from, ptr %to) nounwind gc "refcount" {
  %kept = alloca ptr
  call void @llvm.gcroot(ptr %kept, ptr null)
  store ptr %to, ptr %kept
  %taken = call ptr @take(ptr %from)
  call void @llvm.gcwrite(ptr %taken, ptr %to, ptr %to)
  call void @stays(ptr %to)
  call void @any()
  ret void
}
define void @outer(ptr %from) nounwind gc "refcount" {
  call void @take_both(ptr %from)
  call void @any()
  ret void
}
define void @end_of_file() nounwind gc "refcount" {
  ret void
}
