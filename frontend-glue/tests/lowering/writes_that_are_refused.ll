; scenario 174
; ERROR-DAG: in @null_object: gcwrite with a null object; name the object that the slot lies in
; ERROR-DAG: in @null_slot: gcwrite to a null slot
; ERROR-DAG: in @local: gcwrite whose object is a local variable; store to a root slot with a plain store
; ERROR-DAG: in @slot_of_unknown_origin: gcwrite to the global @table at a slot that is not seen to lie in it
; ERROR-DAG: in @thread_local: gcwrite to the thread-local variable @tls
; ERROR-DAG: in @thread_local_of_clang: gcwrite to the thread-local variable @tls
; ERROR-DAG: in @tagged_global: a tagged word cannot be a global root
; ERROR-DAG: in @bare: tally_gcwrite_i64 in a function without a gc strategy; add gc "refcount" to the function
@table = global [4 x ptr] zeroinitializer
@tls = thread_local global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
define void @null_object(ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr null, ptr %v)
  ret void
}
define void @null_slot(ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr %v, ptr null)
  ret void
}
define void @local(ptr %v) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcwrite(ptr %v, ptr %r, ptr %r)
  ret void
}
define void @slot_of_unknown_origin(ptr %v, ptr %slot) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr @table, ptr %slot)
  ret void
}
define void @thread_local(ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr @tls, ptr @tls)
  ret void
}
declare ptr @llvm.threadlocal.address.p0(ptr)
define void @thread_local_of_clang(ptr %v) gc "refcount" {
  %mine = call ptr @llvm.threadlocal.address.p0(ptr @tls)
  call void @llvm.gcwrite(ptr %v, ptr %mine, ptr %mine)
  ret void
}
define void @tagged_global(i64 %v) gc "refcount" {
  call void @tally_gcwrite_i64(i64 %v, ptr @table, ptr @table)
  ret void
}
define void @bare(i64 %v, ptr %o) {
  call void @tally_gcwrite_i64(i64 %v, ptr %o, ptr %o)
  ret void
}
