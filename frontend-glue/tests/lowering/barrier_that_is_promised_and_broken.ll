; A reference that is certain to be stored past the barrier: under the trace plan the program is right, but marks stop it.
; OPTIONS: plan=trace
; CHECK: @tally.module = internal global {{.*}} { i32 3, i32 8,
; TOTAL-NOT: call preserve_mostcc
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Node\00"
@refs = private constant [1 x i32] [i32 8]
@node = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)

define void @f() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @node)
  store ptr %object, ptr %root
  %other = call ptr @tally_new(ptr @node)
  %kept = load ptr, ptr %root
  %slot = getelementptr i8, ptr %kept, i64 8
  store ptr %other, ptr %slot
  ret void
}
define void @g(ptr %object, ptr %value) gc "refcount" {
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %object)
  ret void
}
