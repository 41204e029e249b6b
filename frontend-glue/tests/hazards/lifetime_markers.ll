; Hazard: lifetime markers of roots: LLVM then gives a root and a buffer one stack slot, and the collector reads the buffer.
; The address of the root escapes, so that it is named at every call. Without the mitigation a misaligned address in the heap is counted.
; WITHOUT lifetime-markers at 2: signal
; WRITTEN ROOTS: a variable whose address is taken holds a pointer into an object
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)

@somewhere = global ptr null

define void @scopes(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  %buffer = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @llvm.lifetime.start.p0(ptr %root)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store ptr %root, ptr @somewhere
  call void @churn()
  call void @expect(ptr %box, i64 %value)
  %inside = getelementptr i8, ptr %box, i64 16777213
  call void @llvm.lifetime.end.p0(ptr %root)
  call void @llvm.lifetime.start.p0(ptr %buffer)
  store ptr %inside, ptr %buffer
  store ptr %buffer, ptr @somewhere
  call void @churn()
  %same = load ptr, ptr %buffer
  %address = ptrtoint ptr %same to i64
  call void @llvm.lifetime.end.p0(ptr %buffer)
  ret void
}

define i32 @main() gc "refcount" {
  call void @scopes(i64 7)
  ret i32 0
}
