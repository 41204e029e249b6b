; What LLVM's ObjCARC optimiser is given: counts as calls, releases that may come early where that makes no difference to
; anybody. The functions of the same names in tally.ll mean the same.
declare ptr @llvm.objc.retain(ptr)
declare void @llvm.objc.release(ptr)
declare ptr @llvm.objc.autoreleaseReturnValue(ptr)
declare ptr @llvm.objc.retainAutoreleasedReturnValue(ptr)
declare void @loud()
declare i64 @reads(ptr) memory(read) nounwind willreturn
declare void @uses(ptr)
declare ptr @make()
@global = global ptr null
define i64 @nothing_between(ptr %p) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  %v = load i64, ptr %p
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret i64 %v
}
define i64 @quiet_call(ptr %p) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  %v = call i64 @reads(ptr %p)
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret i64 %v
}
define void @held_across_calls(ptr %p) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  call void @uses(ptr %p)
  call void @uses(ptr %p)
  call void @llvm.objc.release(ptr %p)
  ret void
}
define i64 @in_a_loop(ptr %p, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %r = call ptr @llvm.objc.retain(ptr %p)
  %v = load volatile i64, ptr %p
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  %j = add i64 %i, 1
  %m = icmp ult i64 %j, %n
  br i1 %m, label %loop, label %end
end:
  ret i64 %i
}
define i64 @diamond(ptr %p, i1 %c) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  br i1 %c, label %a, label %b
a:
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret i64 1
b:
  %v = load i64, ptr %p
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret i64 %v
}
define ptr @returned() nounwind {
  %o = call ptr @make()
  %r = call ptr @llvm.objc.retainAutoreleasedReturnValue(ptr %o)
  %a = call ptr @llvm.objc.autoreleaseReturnValue(ptr %o)
  ret ptr %a
}
define void @to_a_global(ptr %p) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  %old = load ptr, ptr @global
  %r2 = call ptr @llvm.objc.retain(ptr %p)
  store ptr %p, ptr @global
  call void @llvm.objc.release(ptr %old)
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret void
}
define i64 @two_holders(ptr %p) nounwind {
  %r = call ptr @llvm.objc.retain(ptr %p)
  %s = call ptr @llvm.objc.retain(ptr %p)
  call void @loud()
  %v = load i64, ptr %p
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  call void @llvm.objc.release(ptr %p), !clang.imprecise_release !0
  ret i64 %v
}
define void @of_null() nounwind {
  %r = call ptr @llvm.objc.retain(ptr null)
  call void @loud()
  call void @llvm.objc.release(ptr null)
  ret void
}
!0 = !{}
