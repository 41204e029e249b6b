; A write to an object that was not allocated just now: test the unlogged bit, log in the slow path, store. All of it
; belongs to the line of the gcwrite. A read is a load.
; CHECK: define ptr @f(ptr %o, ptr %v)
; CHECK: ptrtoint ptr %slot to i64, !dbg !7
; CHECK: lshr i64 %{{-?[0-9]+}}, 9, !dbg !7
; CHECK: getelementptr i32, ptr inttoptr (i64 52501680226304 to ptr), i64 %{{-?[0-9]+}}, !dbg !7
; CHECK: and i32 %{{-?[0-9]+}}, 31, !dbg !7
; CHECK: !dbg !7, !prof !
; CHECK: call preserve_mostcc void @tally_log_slow(ptr %o, ptr %slot), !dbg !7
; CHECK: store ptr %v, ptr %slot, align 8, !dbg !7
; CHECK: %x = load ptr, ptr %slot, align 8, !dbg !9
; CHECK: declare preserve_mostcc void @tally_log_slow(ptr, ptr) #
; CHECK: !7 = !DILocation(line: 12,
; CHECK: !9 = !DILocation(line: 13,
; TOTAL-COUNT-1: call preserve_mostcc
; TOTAL-NOT: call preserve_mostcc
; CHECK-NOT: llvm.gc
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
define ptr @f(ptr %o, ptr %v) gc "refcount" !dbg !4 {
  %slot = getelementptr i8, ptr %o, i64 8
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %slot), !dbg !6
  %x = call ptr @llvm.gcread(ptr %o, ptr %slot), !dbg !7
  ret ptr %x, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, isOptimized: false, emissionKind: FullDebug)
!1 = !DIFile(filename: "prog.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 12, column: 3, scope: !4)
!7 = !DILocation(line: 13, column: 3, scope: !4)
