; Hazard: in functions that never run, writes turn out to go to null once a local variable is seen through, or, where no way leads, to
; places of globals that cannot be roots. A root at such an address would be read at every epoch.
; WRITTEN ROOTS: a descriptor that is loaded from a variable turns out to be null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
@constant = constant [2 x i64] [i64 -8, i64 -16]
@shared = global [2 x i64] [i64 -8, i64 -16]
@flag = global i1 false

define void @never(ptr %value, ptr %place, i64 %word) noinline gc "refcount" {
  %variable = alloca ptr
  %nothing = alloca ptr
  store ptr null, ptr %nothing
  store ptr @shared, ptr %variable
  %shared = load ptr, ptr %variable
  %unused = load i64, ptr %shared
  %null = load ptr, ptr %nothing
  call void @llvm.gcwrite(ptr %value, ptr %null, ptr %null)
  %descriptor = load ptr, ptr %nothing
  %object = call ptr @tally_new(ptr %descriptor)
  call void @llvm.gcwrite(ptr %object, ptr %object, ptr %object)
  ret void
nowhere:
  call void @llvm.gcwrite(ptr %value, ptr @shared, ptr null)
  call void @llvm.gcwrite(ptr %value, ptr @constant, ptr undef)
  call void @tally_gcwrite_i64(i64 %word, ptr @shared, ptr null)
  br label %nowhere
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @churn()
  %flag = load volatile i1, ptr @flag
  br i1 %flag, label %wrong, label %right
wrong:
  call void @never(ptr %box, ptr %box, i64 1)
  br label %right
right:
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret i32 0
}
