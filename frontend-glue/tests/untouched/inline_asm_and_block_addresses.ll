target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Assembly of the module and in functions, computed jumps, and calls that may go elsewhere.
module asm ".globl from_assembly"
module asm "from_assembly: ret"
@table = private unnamed_addr constant [2 x ptr] [ptr blockaddress(@jump, %one), ptr blockaddress(@jump, %two)]
declare void @from_assembly()
define i32 @jump(i64 %i) {
  %at = getelementptr inbounds [2 x ptr], ptr @table, i64 0, i64 %i
  %to = load ptr, ptr %at, align 8, !invariant.load !0
  indirectbr ptr %to, [label %one, label %two]
one:
  %x = call i32 asm sideeffect inteldialect "mov $0, 1", "=r,~{dirflag},~{fpsr},~{flags}"(), !srcloc !1
  ret i32 %x
two:
  %y = call { i32, i32 } asm alignstack "bswap $0", "=r,=r,0,1"(i32 1, i32 2)
  %z = extractvalue { i32, i32 } %y, 0
  ret i32 %z
}
define i32 @goto(i32 %x) {
  callbr void asm sideeffect "", "r,!i,!i"(i32 %x) to label %through [label %left, label %right]
through:
  call void asm sideeffect unwind "call from_assembly", "~{memory}"()
  ret i32 0
left:
  ret i32 1
right:
  ret i32 2
}
!0 = !{}
!1 = !{i64 42}
