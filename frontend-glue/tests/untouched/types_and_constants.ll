target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Opaque and recursive types, odd integers, vectors, target types, constants of all kinds, tokens.
%opaque = type opaque
%recursive = type { i32, ptr, [0 x %packed] }
%packed = type <{ i8, i64, <3 x i1> }>
%unused = type { %opaque }
@undef = global { i32, float } { i32 undef, float poison }
@floats = global { half, bfloat, float, double, x86_fp80, fp128, ppc_fp128 } { half 0xH3C00, bfloat 0xR3F80, float 1.0, double 0x7FF8000000000001, x86_fp80 0xK3FFF8000000000000000, fp128 0xL00000000000000003FFF000000000000, ppc_fp128 0xM3FF00000000000000000000000000000 }
@wide = global i4096 12345678901234567890123456789012345678901234567890
@odd = global i37 -1
@splat = global <4 x i8> splat (i8 7)
@packed = global %packed <{ i8 1, i64 2, <3 x i1> <i1 true, i1 false, i1 true> }>
@spaces = global ptr addrspace(3) addrspacecast (ptr @odd to ptr addrspace(3))
@text = private unnamed_addr constant [7 x i8] c"a\00\22\FF\5Cz\0A", align 1
@external = external global %opaque
define void @f(<vscale x 4 x i32> %v, ptr addrspace(7) %p, i4096 %w) {
  %a = freeze i4096 %w
  %b = cmpxchg weak volatile ptr addrspace(7) %p, i8 1, i8 2 syncscope("agent") acq_rel monotonic, align 1
  %c = atomicrmw fadd ptr addrspace(7) %p, float 1.0 seq_cst, align 4
  fence syncscope("singlethread") release
  %d = getelementptr nusw nuw i8, ptr addrspace(7) %p, i64 3
  %e = fadd nnan ninf nsz arcp contract afn reassoc <vscale x 4 x float> zeroinitializer, zeroinitializer
  %t = call token @llvm.experimental.convergence.anchor()
  call void @g() convergent [ "convergencectrl"(token %t) ]
  ret void
}
declare void @g() convergent
declare token @llvm.experimental.convergence.anchor()
