; Hazard: optimisers leave writes to null in code that never runs; it is lowered like other code and must not stop the rest.
; scenarios 174, 193.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)

define void @write(ptr %value, i64 %word) gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %value, ptr %root
  br i1 false, label %folded, label %live
folded:
  call void @llvm.gcwrite(ptr %value, ptr null, ptr null)
  call void @tally_gcwrite_i64(i64 %word, ptr null, ptr null)
  br label %live
live:
  call void @churn()
  switch i64 3, label %other [ i64 2, label %two
                               i64 3, label %done ]
two:
  call void @llvm.gcwrite(ptr %value, ptr poison, ptr %value)
  br label %done
other:
  call void @llvm.gcwrite(ptr %value, ptr undef, ptr undef)
  br label %done
done:
  call void @llvm.gcwrite(ptr null, ptr %value, ptr %value)
  ret void
nowhere:
  call void @llvm.gcwrite(ptr %value, ptr %value, ptr null)
  br label %nowhere
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @write(ptr %box, i64 1)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret i32 0
}
