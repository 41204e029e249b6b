; The first write to an object logs all of it: another one, on the same way and with no safepoint between, needs no
; barrier. The object is known through root slots and local variables, the place in it by constants.
; CHECK: define void @two_fields
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK-NOT: call preserve_mostcc
; CHECK: define void @through_variables
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK-NOT: call preserve_mostcc
; CHECK: define void @word_and_reference
; CHECK: call preserve_mostcc void @tally_log_slow
; CHECK-NOT: call preserve_mostcc
; TOTAL-COUNT-3: call preserve_mostcc
; TOTAL-NOT: call preserve_mostcc
%pair = type { ptr, ptr }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @poke()
declare void @leaf(ptr) "gc-leaf-function"

define void @two_fields(ptr %o, ptr %v) gc "refcount" {
  %second = getelementptr %pair, ptr %o, i64 0, i32 1
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  call void @leaf(ptr %v)
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %second)
  ret void
}
define void @through_variables(ptr %p, ptr %v) gc "refcount" {
  %root = alloca ptr
  %local = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  %a = load ptr, ptr %root
  %b = load ptr, ptr %root
  %first = getelementptr i8, ptr %b, i64 16
  call void @llvm.gcwrite(ptr %v, ptr %a, ptr %first)
  br label %next
next:
  %c = load ptr, ptr %root
  store ptr %c, ptr %local
  %field = getelementptr i8, ptr %c, i64 24
  store i64 7, ptr %field
  %d = load ptr, ptr %local
  %e = load ptr, ptr %local
  %second = getelementptr i8, ptr %e, i64 8
  call void @llvm.gcwrite(ptr %v, ptr %d, ptr %second)
  ret void
}
define void @word_and_reference(ptr %o, ptr %v, i64 %word) gc "refcount" {
  %second = getelementptr i8, ptr %o, i64 248
  call void @tally_gcwrite_i64(i64 %word, ptr %o, ptr %o)
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %second)
  ret void
}
