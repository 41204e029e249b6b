; Tables in global variables: every word that a computed slot may mean is registered, once, and the write is a plain store.
; CHECK: @tally.globals = internal constant [9 x { ptr, ptr, ptr }] [{ ptr, ptr, ptr } { ptr @plain, ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @plain, i64 8), ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @plain, i64 16), ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @records, i64 16), ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @records, i64 40), ptr null
; CHECK: { ptr @grid, ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @grid, i64 8), ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @grid, i64 16), ptr null
; CHECK: { ptr getelementptr inbounds (i8, ptr @grid, i64 24), ptr null
; CHECK: i64 9, ptr @tally.globals
; CHECK: define void @f
; CHECK-NOT: preserve_mostcc
%record = type { ptr, i32, ptr }
@plain = internal global [3 x ptr] zeroinitializer
@records = internal global [2 x %record] zeroinitializer
@grid = internal global [2 x [2 x ptr]] zeroinitializer
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @f(ptr %v, i64 %i, i32 %j) gc "refcount" {
  %a = getelementptr [3 x ptr], ptr @plain, i64 0, i64 %i
  %b = getelementptr [3 x ptr], ptr @plain, i64 0, i64 %i
  call void @llvm.gcwrite(ptr %v, ptr %a, ptr %b)
  call void @llvm.gcwrite(ptr null, ptr @plain, ptr getelementptr ([3 x ptr], ptr @plain, i64 0, i64 1))
  %r = getelementptr [2 x %record], ptr @records, i64 0, i64 %i
  %field = getelementptr %record, ptr %r, i32 0, i32 2
  call void @llvm.gcwrite(ptr %v, ptr @records, ptr %field)
  %row = getelementptr [2 x [2 x ptr]], ptr @grid, i64 0, i64 %i
  %cell = getelementptr [2 x ptr], ptr %row, i64 0, i32 %j
  call void @llvm.gcwrite(ptr %v, ptr %cell, ptr %cell)
  ret void
}
