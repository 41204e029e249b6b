; Roots whose address goes only to functions of the module that store through it or pass it on: each of those stores is named to
; the runtime, and the frame counts as none that lends (96 is `Context::lent`). One whose address a callee keeps, or that goes to another
; module, is lent.
; OPTIONS: plan=refcount-prompt patterns=all operations
; TOTAL-COUNT-2: call void @tally_address_taken_store(
; TOTAL-NOT: call void @tally_address_taken_store(
; CHECK: define ptr @owner(
; CHECK-NOT: call void @tally.count.lend()
; CHECK: define ptr @lender(
; CHECK: call void @tally.count.lend()
; CHECK: define ptr @keeper(
; CHECK: call void @tally.count.lend()
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @elsewhere(ptr)

@kept = global ptr null

define ptr @owner(ptr %type) gc "refcount" {
  %one = alloca ptr
  %two = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  call void @llvm.gcroot(ptr %two, ptr null)
  call void @passes_on(ptr %type, ptr %one, ptr %two)
  %result = load ptr, ptr %one
  ret ptr %result
}

define void @passes_on(ptr %type, ptr %one, ptr %two) gc "refcount" {
  call void @stores(ptr %type, ptr %two)
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %one
  ret void
}

define void @stores(ptr %type, ptr %out) gc "refcount" {
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}

define ptr @lender(ptr %type) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @elsewhere(ptr %root)
  %result = load ptr, ptr %root
  ret ptr %result
}

define ptr @keeper(ptr %type) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @keeps(ptr %type, ptr %root)
  %result = load ptr, ptr %root
  ret ptr %result
}

define void @keeps(ptr %type, ptr %out) gc "refcount" {
  store ptr %out, ptr @kept
  %new = call ptr @tally_new(ptr %type)
  store ptr %new, ptr %out
  ret void
}
