; REFUSED: in @main: atomic store to a field that gcwrite writes; write references with gcwrite only
; REFUSED: in @main: volatile store to a field that gcwrite writes
; REFUSED: in @main: atomic access to a field that gcwrite writes
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %n, ptr %v) gc "refcount" {
  %s = getelementptr i8, ptr %v, i64 8
  call void @llvm.gcwrite(ptr null, ptr %v, ptr %s)
  store atomic ptr %v, ptr %s release, align 8
  store volatile ptr %v, ptr %s
  %old = atomicrmw xchg ptr %s, ptr %v seq_cst, align 8
  ret i32 0
}
