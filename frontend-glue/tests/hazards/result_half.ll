; Hazard: a safepoint call that returns half and bfloat.
; A bfloat that crosses from block to block is widened and narrowed again by a function that libgcc 12 lacks, as LLVM does everywhere.
; PROMPT-REFUSED: undefined symbol: __truncsfbf2
; Without the roots' names the box is lost.
; WITHOUT root-names at 0: lost: a box of 7
; WITHOUT root-names at 2: lost: a box of 7
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global { half, bfloat } { half 0xH4200, bfloat 0xR4049 }
@copy = global { half, bfloat } zeroinitializer

define { half, bfloat } @result() noinline gc "refcount" {
  call void @churn()
  %value = load { half, bfloat }, ptr @sample
  ret { half, bfloat } %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call { half, bfloat } @result()
  store { half, bfloat } %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 4)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
