; Roots of any shape whose address goes to functions without a strategy that come to no safepoint: the frame does not lend, and nothing is
; named. Where such a helper calls a gc function, its stores are named; where its caller may be linked to another body, or the address
; is kept, the frame lends.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-1: call void @tally_address_taken_store(
; TOTAL-NOT: call void @tally_address_taken_store(
; CHECK: define ptr @owner(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define ptr @owner_of_many(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define ptr @owner_beside_a_call(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define ptr @lender_to_a_weak_helper(
; CHECK: call void @tally.count.lend()
; CHECK: define ptr @lender_to_a_keeper(
; CHECK: call void @tally.count.lend()
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)

@kept = global ptr null

define ptr @owner(ptr %type, ptr %list) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %found = call i1 @finds(ptr %list, ptr %root)
  %new = call ptr @tally_new(ptr %type)
  %result = load ptr, ptr %root
  ret ptr %result
}

define ptr @owner_of_many(ptr %type, ptr %list) gc "refcount" {
  %roots = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %roots, ptr @Two)
  %second = getelementptr i8, ptr %roots, i64 8
  %found = call i1 @finds(ptr %list, ptr %second)
  %new = call ptr @tally_new(ptr %type)
  %result = load ptr, ptr %second
  ret ptr %result
}

define ptr @owner_beside_a_call(ptr %type, ptr %list) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @makes(ptr %type, ptr %root)
  %result = load ptr, ptr %root
  ret ptr %result
}

define ptr @lender_to_a_weak_helper(ptr %list) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %found = call i1 @finds_elsewhere(ptr %list, ptr %root)
  %result = load ptr, ptr %root
  ret ptr %result
}

define ptr @lender_to_a_keeper(ptr %list) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @keeps(ptr %root)
  %result = load ptr, ptr %root
  ret ptr %result
}

define internal i1 @finds(ptr %list, ptr %out) {
  %found = call i1 @finds_inside(ptr %list, ptr %out)
  ret i1 %found
}

define internal i1 @finds_inside(ptr %list, ptr %out) {
  %next = load ptr, ptr %list
  store ptr %next, ptr %out
  %more = icmp ne ptr %next, null
  br i1 %more, label %on, label %end
on:
  %found = call i1 @finds(ptr %next, ptr %out)
  br label %end
end:
  ret i1 %more
}

define internal void @makes(ptr %type, ptr %out) {
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}

define weak i1 @finds_elsewhere(ptr %list, ptr %out) {
  %next = load ptr, ptr %list
  store ptr %next, ptr %out
  ret i1 true
}

define internal void @keeps(ptr %out) {
  store ptr %out, ptr @kept
  ret void
}

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@offsets = private constant [2 x i32] [i32 0, i32 8]
@name = private constant [4 x i8] c"Two\00"
@Two = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @offsets,
    i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
