; A reference in a global variable: the slot is registered as a root, the write is a plain store.
; CHECK: @tally.globals = internal constant [2 x { ptr, ptr, ptr }] [{ ptr, ptr, ptr } { ptr @top, ptr null, ptr @
; CHECK: { ptr getelementptr inbounds (i8, ptr @table, i64 8), ptr null, ptr @
; CHECK: i64 2, ptr @tally.globals
; CHECK: store ptr %v, ptr @top
; CHECK-NOT: preserve_mostcc
@top = global ptr null
@table = internal global [4 x ptr] zeroinitializer
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @f(ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr @top, ptr @top)
  call void @llvm.gcwrite(ptr null, ptr @top, ptr @top)
  call void @llvm.gcwrite(ptr %v, ptr @table, ptr getelementptr inbounds (i8, ptr @table, i64 8))
  ret void
}
