; REFUSED: @llvm_gc_allocate makes objects of Tally's heap, and Tally does not find what roots of gc "erlang" in @main hold
@allocate = global ptr @llvm_gc_allocate
declare ptr @llvm_gc_allocate(i32)
define i32 @main() gc "erlang" {
  ret i32 0
}
