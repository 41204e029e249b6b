; Hazard: a word of a global is written by its constant address, and then by one with an index that turns out to be the same. What
; the second write replaces is not what was loaded before the first.
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

%record = type { i64, ptr }
@records = internal global [4 x %record] zeroinitializer

define void @replace_twice(i64 %index, ptr %new) noinline gc "refcount" {
  %old_root = alloca ptr
  %new_root = alloca ptr
  call void @llvm.gcroot(ptr %old_root, ptr null)
  call void @llvm.gcroot(ptr %new_root, ptr null)
  store ptr %new, ptr %new_root
  %record = getelementptr [4 x %record], ptr @records, i64 0, i64 %index
  %slot = getelementptr %record, ptr %record, i32 0, i32 1
  %old = load ptr, ptr %slot
  store ptr %old, ptr %old_root
  %same = getelementptr [4 x %record], ptr @records, i64 0, i64 1, i32 1
  call void @llvm.gcwrite(ptr %new, ptr @records, ptr %same)
  call void @llvm.gcwrite(ptr null, ptr %record, ptr %slot)
  call void @churn()
  call void @expect(ptr %old, i64 7)
  call void @expect(ptr %new, i64 8)
  store ptr null, ptr %old_root
  call void @churn()
  call void @expect(ptr %new, i64 8)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %old = call ptr @box(i64 7)
  %slot = getelementptr [4 x %record], ptr @records, i64 0, i64 1, i32 1
  call void @llvm.gcwrite(ptr %old, ptr @records, ptr %slot)
  %new = call ptr @box(i64 8)
  store ptr %new, ptr %root
  call void @replace_twice(i64 1, ptr %new)
  call void @churn()
  call void @expect(ptr %new, i64 8)
  ret i32 0
}
