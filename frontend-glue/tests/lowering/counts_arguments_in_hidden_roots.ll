; A fresh object that is an argument is kept by a root of the lowering's own for the call, with its count; as many of them as
; the neediest call has. Without "moves" the object waits on the pending list, and is protected there. So is one that a write takes
; out of a field, if nothing but that write lies between it and its load; otherwise the drain protects it.
; OPTIONS: operations
; CHECK: define void @one
; CHECK: %tally.argument.0 = alloca ptr
; CHECK: call void @tally.count.spend(ptr %b)
; CHECK: store ptr %b, ptr %tally.argument.0
; CHECK: call void @tally.count.take(ptr %b, i32 0)
; CHECK: call void @show(ptr %b)
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: store ptr null, ptr %tally.argument.0
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @of_a_field
; CHECK: call void @tally.count.keep(ptr %o)
; CHECK: call void @llvm.gcwrite
; CHECK: call void @tally.count.spend(ptr %o)
; CHECK: store ptr %o, ptr %tally.argument.0
; CHECK: call void @show(ptr %o)
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: define void @of_a_field_that_a_leaf_may_write
; CHECK-NOT: call void @tally.count.keep
; CHECK: call void @llvm.gcwrite
; CHECK: call void (...) @tally.count.drain(ptr %o)
; CHECK: call void @show(ptr %o)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @show(ptr) nounwind
declare void @leaf() nounwind "gc-leaf-function"

define void @one() nounwind gc "refcount-prompt" {
  %b = call ptr @tally_new(ptr @pair)
  call void @show(ptr %b)
  ret void
}
define void @of_a_field(ptr %p) nounwind gc "refcount-prompt" {
  %o = load ptr, ptr %p
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  call void @show(ptr %o)
  ret void
}
define void @of_a_field_that_a_leaf_may_write(ptr %p) nounwind gc "refcount-prompt" {
  %o = load ptr, ptr %p
  call void @leaf()
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  call void @show(ptr %o)
  ret void
}
