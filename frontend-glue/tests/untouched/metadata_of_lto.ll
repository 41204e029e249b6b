target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Types for whole-program devirtualisation, profiles, module flags, summaries' names, dependent libraries, unknown metadata.
source_filename = "lto.cpp"
@vtable = linkonce_odr unnamed_addr constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr null, ptr @method] }, !type !0, !type !1, !vcall_visibility !2
define i32 @method(ptr %this) !prof !3 !kcfi_type !4 !mine !5 {
  ret i32 1
}
define i32 @call(ptr %object) !prof !3 {
  %vtable = load ptr, ptr %object, align 8, !tbaa !6
  %is = call i1 @llvm.public.type.test(ptr %vtable, metadata !"_ZTS1A")
  call void @llvm.assume(i1 %is)
  %method = load ptr, ptr %vtable, align 8
  %x = call i32 %method(ptr %object), !prof !9, !callees !10, !heapallocsite !5
  %hot = icmp sgt i32 %x, 0
  br i1 %hot, label %yes, label %no, !prof !11, !unpredictable !5
yes:
  ret i32 %x
no:
  ret i32 0
}
declare i1 @llvm.public.type.test(ptr, metadata)
declare void @llvm.assume(i1)
!llvm.module.flags = !{!12, !13, !14, !15}
!llvm.ident = !{!16}
!llvm.dependent-libraries = !{!17}
!llvm.linker.options = !{!18}
!llvm.stats = !{!19}
!mine.named = !{!5, !0}
!0 = !{i64 16, !"_ZTS1A"}
!1 = !{i64 16, !"_ZTSM1AFivE.virtual"}
!2 = !{i64 1}
!3 = !{!"function_entry_count", i64 1000}
!4 = !{i32 -1234}
!5 = distinct !{!5, !"a loop of itself", i1 true}
!6 = !{!7, !7, i64 0}
!7 = !{!"vtable pointer", !8, i64 0}
!8 = !{!"Simple C++ TBAA"}
!9 = !{!"VP", i32 0, i64 100, i64 -5738429048823049, i64 100}
!10 = !{ptr @method}
!11 = !{!"branch_weights", !"expected", i32 2000, i32 1}
!12 = !{i32 1, !"wchar_size", i32 4}
!13 = !{i32 1, !"EnableSplitLTOUnit", i32 1}
!14 = !{i32 6, !"CG Profile", !20}
!15 = !{i32 8, !"PIC Level", i32 2}
!16 = !{!"a compiler"}
!17 = !{!"m"}
!18 = !{!"-lm"}
!19 = !{!"Name", i64 7}
!20 = distinct !{!21}
!21 = distinct !{ptr @call, ptr @method, i64 32}
