; REFUSED: @llvm_gc_allocate allocates on Tally's heap, but Tally cannot read roots of gc "coreclr" in @main
@allocate = global ptr @llvm_gc_allocate
declare ptr @llvm_gc_allocate(i32)
define i32 @main() gc "coreclr" {
  ret i32 0
}
