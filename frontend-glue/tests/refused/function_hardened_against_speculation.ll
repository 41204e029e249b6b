; REFUSED: in @plain: attribute speculative_load_hardening: LLVM cannot harden the calls at safepoints; compile without -mspeculative-load-hardening
define void @plain(ptr %function) speculative_load_hardening {
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
