; Roots of any shape whose address goes to gc functions with safepoints: the frame does not lend. A callee that only reads names nothing;
; one that writes names each word that it writes, and none of a clearing. Writes of more words than are named, and atomic ones, lend.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-4: call void @tally_address_taken_store(
; TOTAL-NOT: call void @tally_address_taken_store(
; CHECK: define void @owner_of_what_is_read(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define void @owner_of_what_is_written(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define void @lender_of_much(
; CHECK: call void @tally.count.lend()
; CHECK: define void @lender_of_what_is_exchanged(
; CHECK: call void @tally.count.lend()
; CHECK: define internal i64 @reads(
; CHECK-NOT: call void @tally_address_taken_store(
; CHECK: define internal void @writes_parts(
; CHECK: [[WORD:%.*]] = getelementptr %Value, ptr %out, i64 0, i32 1
; CHECK-NEXT: store i64 %bits, ptr [[WORD]]
; CHECK-NEXT: call void @tally_address_taken_store(ptr [[WORD]])
; CHECK: store i32 1, ptr %out
; CHECK-NEXT: call void @tally_address_taken_store(ptr %out)
; CHECK: define internal void @writes_all(
; CHECK: call void @llvm.memcpy{{.*}}(ptr %out, ptr %from, i64 16, i1 false)
; CHECK-NEXT: call void @tally_address_taken_store(ptr %out)
; CHECK-NEXT: [[SECOND:%.*]] = getelementptr inbounds i8, ptr %out, i64 8
; CHECK-NEXT: call void @tally_address_taken_store(ptr [[SECOND]])
; CHECK: define internal void @clears(
; CHECK-NOT: call void @tally_address_taken_store(
; CHECK: ret void
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @poke()
%Value = type { i32, i64 }
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@offsets = private constant [1 x i32] [i32 8]
@name = private constant [6 x i8] c"Value\00"
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 4, i64 1, i64 1, i64 -1, i32 1, i32 0, ptr @offsets,
    i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }

define void @owner_of_what_is_read() gc "refcount-prompt" {
  %value = alloca %Value
  call void @llvm.gcroot(ptr %value, ptr @pair)
  %sum = call i64 @reads(ptr %value)
  ret void
}

define void @owner_of_what_is_written(i64 %bits, ptr %from) gc "refcount-prompt" {
  %value = alloca %Value
  call void @llvm.gcroot(ptr %value, ptr @pair)
  call void @writes_parts(ptr %value, i64 %bits)
  call void @writes_all(ptr %value, ptr %from)
  call void @clears(ptr %value)
  ret void
}

define void @lender_of_much(ptr %from) gc "refcount-prompt" {
  %value = alloca %Value
  call void @llvm.gcroot(ptr %value, ptr @pair)
  call void @writes_much(ptr %value, ptr %from)
  ret void
}

define void @lender_of_what_is_exchanged(i64 %bits) gc "refcount-prompt" {
  %value = alloca %Value
  call void @llvm.gcroot(ptr %value, ptr @pair)
  call void @exchanges(ptr %value, i64 %bits)
  ret void
}

define internal i64 @reads(ptr %value) gc "refcount-prompt" {
  call void @poke()
  %word = getelementptr %Value, ptr %value, i64 0, i32 1
  %bits = load i64, ptr %word
  ret i64 %bits
}

define internal void @writes_parts(ptr %out, i64 %bits) gc "refcount-prompt" {
  %word = getelementptr %Value, ptr %out, i64 0, i32 1
  store i64 %bits, ptr %word
  store i32 1, ptr %out
  call void @poke()
  ret void
}

define internal void @writes_all(ptr %out, ptr %from) gc "refcount-prompt" {
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %from, i64 16, i1 false)
  call void @poke()
  ret void
}

define internal void @clears(ptr %out) gc "refcount-prompt" {
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 16, i1 false)
  call void @poke()
  ret void
}

define internal void @writes_much(ptr %out, ptr %from) gc "refcount-prompt" {
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %from, i64 128, i1 false)
  call void @poke()
  ret void
}

define internal void @exchanges(ptr %out, i64 %bits) gc "refcount-prompt" {
  %word = getelementptr %Value, ptr %out, i64 0, i32 1
  %old = atomicrmw xchg ptr %word, i64 %bits seq_cst
  call void @poke()
  ret void
}
