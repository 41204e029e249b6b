target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Orders of uses that are not those of the text.
@global = global i32 0
@other = global ptr @global
define i32 @f(i32 %x, i1 %c) {
entry:
  %a = add i32 %x, 1
  %b = add i32 %x, 2
  br i1 %c, label %left, label %right
left:
  %d = mul i32 %x, %a
  store i32 %d, ptr @global
  br label %right
right:
  %e = phi i32 [ %b, %entry ], [ %d, %left ]
  store i32 %e, ptr @global
  ret i32 %e
  uselistorder i32 %x, { 2, 0, 1 }
  uselistorder label %right, { 1, 0 }
}
uselistorder ptr @global, { 2, 0, 1 }
