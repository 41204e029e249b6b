; Roots whose address goes only to functions that get no other address: each store through it is a write, which counts what it stores
; and releases what it replaces. Nothing is named to the runtime, nothing settled at safepoints, and what the root holds is released
; where its frame ends. A function that also gets an address of other memory names its stores, and so does one that calls setjmp.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-2: call void @tally_address_taken_store(
; TOTAL-NOT: call void @tally_address_taken_store(
; CHECK: define ptr @owner(
; CHECK: store ptr null, ptr %one
; CHECK-NOT: tally.count.settle
; CHECK: call void @passes_on(
; CHECK: call void @llvm.gcwrite(ptr null, ptr %one, ptr %one)
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 1)
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: define internal void @passes_on(
; CHECK: call void @stores(
; CHECK: call void @tally.count.spend(ptr %new)
; CHECK-NEXT: call void @llvm.gcwrite(ptr %new, ptr %one, ptr %one)
; CHECK: define internal void @stores(
; CHECK: call void @llvm.gcwrite(ptr %new, ptr %out, ptr %out)
; CHECK: define void @mixes(
; CHECK: call void @tally.count.settle(
; CHECK: define internal void @stores_anywhere(
; CHECK: call void @tally_address_taken_store(ptr %out)
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @malloc(i64) nounwind "gc-leaf-function"
declare i32 @setjmp(ptr) returns_twice

define ptr @owner(ptr %type) gc "refcount" {
  %one = alloca ptr
  %two = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  call void @llvm.gcroot(ptr %two, ptr null)
  call void @passes_on(ptr %type, ptr %one, ptr %two)
  %result = load ptr, ptr %one
  store ptr null, ptr %one
  ret ptr %result
}

define internal void @passes_on(ptr %type, ptr %one, ptr %two) gc "refcount" {
  call void @stores(ptr %type, ptr %two)
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %one
  ret void
}

define internal void @stores(ptr %type, ptr writeonly %out) gc "refcount" {
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}

define void @mixes(ptr %type) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %memory = call ptr @malloc(i64 8)
  call void @stores_anywhere(ptr %type, ptr %root)
  call void @stores_anywhere(ptr %type, ptr %memory)
  ret void
}

define internal void @stores_anywhere(ptr %type, ptr %out) gc "refcount" {
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}

define void @comes_back(ptr %type, ptr %buffer) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %again = call i32 @setjmp(ptr %buffer)
  call void @stores_for_one_that_comes_back(ptr %type, ptr %root)
  ret void
}

define internal void @stores_for_one_that_comes_back(ptr %type, ptr %out) gc "refcount" {
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}
