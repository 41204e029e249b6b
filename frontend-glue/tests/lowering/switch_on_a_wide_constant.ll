; A write to nothing behind a switch of more than 64 bits that never goes there.
; CHECK: define void @f
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @f() gc "refcount" {
  switch i128 -1, label %never [ i128 1, label %never
                                 i128 340282366920938463463374607431768211455, label %out ]
never:
  call void @llvm.gcwrite(ptr null, ptr null, ptr null)
  br label %out
out:
  ret void
}
