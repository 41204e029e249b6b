; REFUSED: in @old: "target-cpu"="pentium3" has no 64-bit code
; REFUSED: in @unknown: "target-cpu"="pentium99" is no x86 processor that this LLVM knows; say x86-64, or leave the attribute out
; REFUSED: in @without: "target-features" takes 64-bit code away (-64bit)
define void @old() "target-cpu"="pentium3" {
  ret void
}
define void @unknown() "target-cpu"="pentium99" {
  ret void
}
define void @without() "target-cpu"="x86-64-v3" "target-features"="+avx2,-64bit" {
  ret void
}
define void @with() "target-cpu"="i386" "target-features"="+64bit" "tune-cpu"="generic" {
  ret void
}
define i32 @main() "target-cpu"="znver4" {
  ret i32 0
}
