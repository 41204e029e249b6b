target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Calls and functions with everything on them, a deopt bundle among it.
declare i32 @g(ptr, ...)
define swifttailcc i32 @f(ptr swiftself %a, ptr byval(i64) align 8 %b, ptr noalias nocapture readonly dereferenceable(8) %c, i32 signext range(i32 0, 9) %d) unnamed_addr nounwind memory(argmem: read) allocsize(3) "mine"="yes" "frame-pointer"="none" {
  %x = notail call i32 (ptr, ...) @g(ptr nonnull %c, i32 %d) cold "gc-leaf-function" [ "deopt"(i64 1, ptr %a), "mine"(), "gc-transition"(i32 3) ]
  %y = call fastcc noundef i32 @h(i32 inreg %x) #0 [ "kcfi"(i32 5) ]
  call void %c() [ "deopt"(i64 3) ]
  ret i32 %y
}
declare fastcc i32 @h(i32)
define void @forever() noreturn mustprogress {
  br label %loop
loop:
  br label %loop, !llvm.loop !0
}
define swifttailcc void @through(ptr swiftasync %c) {
  musttail call swifttailcc void @through(ptr swiftasync %c)
  ret void
}
attributes #0 = { noinline optnone nomerge "target-cpu"="x86-64-v3" "target-features"="+avx2" }
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
