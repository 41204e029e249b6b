; REFUSED: @llvm_gc_allocate allocates on Tally's heap, but Tally cannot read roots of gc "erlang" in @main
@allocate = global ptr @llvm_gc_allocate
declare ptr @llvm_gc_allocate(i32)
define i32 @main() gc "erlang" {
  ret i32 0
}
