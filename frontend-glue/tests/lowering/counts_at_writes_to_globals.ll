; A write to a global is an exchange: the new value is counted, the old one let go.
; OPTIONS: operations
; CHECK: define void @remember
; CHECK: call void @tally.count.increment(ptr %p)
; CHECK: call void @llvm.gcwrite(ptr %p, ptr @global, ptr @global)
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @forget
; CHECK-NOT: tally.count.increment
; CHECK: call void @llvm.gcwrite(ptr null
; CHECK: call void (...) @tally.count.finish()
; OPTIMISED-DAG: @tally_drain
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@global = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)

define void @remember(ptr %p) nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr %p, ptr @global, ptr @global)
  ret void
}
define void @forget() nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr null, ptr @global, ptr @global)
  ret void
}
