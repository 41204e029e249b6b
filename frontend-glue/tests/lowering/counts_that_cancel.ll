; Pattern "advances": a write that stores what a later one takes out of its field counts nothing, and neither does the later one. In between
; there may be other writes, also of other elements, but no call, no write that may overwrite the field, and no end of the block with two ways.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-3: call void @tally.count.advance(
; TOTAL-NOT: call void @tally.count.advance(
; CHECK: define void @moved(
; CHECK: call void @tally.count.advance(ptr %next)
; CHECK-NEXT: call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to)
; CHECK-NEXT: call void @tally.count.keep(ptr %next)
; CHECK-NEXT: call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
; CHECK-NEXT: call void @tally.count.repay(ptr %next)
; CHECK: define void @of_an_element(
; CHECK: call void @tally.count.advance(ptr %top)
; CHECK: call void @tally.count.keep(ptr %top)
; CHECK: call void @tally.count.repay(ptr %top)
; CHECK: define void @stored_twice(
; CHECK: call void @tally.count.advance(ptr %next)
; CHECK: call void @tally.count.increment(ptr %next)
; CHECK: call void @tally.count.repay(ptr %next)
; CHECK: define void @past_a_call(
; CHECK: call void @tally.count.increment(ptr %next)
; CHECK: define void @past_a_write_at_the_same_offset(
; CHECK: call void @tally.count.increment(ptr %next)
; CHECK: define void @on_one_of_two_ways(
; CHECK: call void @tally.count.increment(ptr %next)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @any() nounwind
declare void @of_other_code() nounwind "gc-leaf-function"

define void @moved(ptr %from, ptr %to) nounwind gc "refcount" {
  %next = load ptr, ptr %from
  call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to)
  call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
  ret void
}
define void @of_an_element(ptr %piles, ptr %disk, i64 %pile) nounwind gc "refcount" {
  %place = getelementptr [3 x ptr], ptr %piles, i64 0, i64 %pile
  %top = load ptr, ptr %place
  call void @llvm.gcwrite(ptr %top, ptr %disk, ptr %disk)
  %same = getelementptr [3 x ptr], ptr %piles, i64 0, i64 %pile
  call void @llvm.gcwrite(ptr %disk, ptr %piles, ptr %same)
  ret void
}
define void @stored_twice(ptr %from, ptr %to, ptr %also) nounwind gc "refcount" {
  %next = load ptr, ptr %from
  call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to)
  call void @llvm.gcwrite(ptr %next, ptr %also, ptr %also)
  call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
  ret void
}
define void @past_a_call(ptr %from, ptr %to) nounwind gc "refcount" {
  %next = load ptr, ptr %from
  call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to)
  call void @of_other_code()
  call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
  ret void
}
define void @past_a_write_at_the_same_offset(ptr %from, ptr %to, ptr %other) nounwind gc "refcount" {
  %next = load ptr, ptr %from
  %to.8 = getelementptr i8, ptr %to, i64 8
  call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to.8)
  call void @llvm.gcwrite(ptr null, ptr %other, ptr %other)
  call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
  ret void
}
define void @on_one_of_two_ways(ptr %from, ptr %to, i1 %which) nounwind gc "refcount" {
  %next = load ptr, ptr %from
  call void @llvm.gcwrite(ptr %next, ptr %to, ptr %to)
  br i1 %which, label %take, label %end
take:
  call void @llvm.gcwrite(ptr null, ptr %from, ptr %from)
  br label %end
end:
  call void @any()
  ret void
}
