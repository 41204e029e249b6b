; ERROR-DAG: in @dynamic: gcroot of an alloca whose size is not constant; give the alloca a constant size
; ERROR-DAG: in @two: gcroot of an aggregate without a descriptor; pass a type descriptor as second argument
; ERROR-DAG: in @two_descriptors: gcroot of one alloca with two different descriptors
; ERROR-DAG: in @atomic_store: atomic store to a root slot
; ERROR-DAG: in @exchanged: atomic access to a root slot
declare void @llvm.gcroot(ptr, ptr)
@one = external constant i8
@other = external constant i8
define void @dynamic(i64 %n) gc "refcount" {
  %r = alloca ptr, i64 %n
  call void @llvm.gcroot(ptr %r, ptr @one)
  ret void
}
define void @two() gc "refcount" {
  %r = alloca ptr, i32 2
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}
define void @two_descriptors() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr @one)
  call void @llvm.gcroot(ptr %r, ptr @other)
  ret void
}
define void @atomic_store(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store atomic ptr %p, ptr %r release, align 8
  ret void
}
define void @exchanged(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %old = atomicrmw xchg ptr %r, ptr %p seq_cst, align 8
  ret void
}
