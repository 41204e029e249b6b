target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Debug records, scopes, inlined locations, macros, imported entities, types of many kinds.
source_filename = "debug.c"
@global = global i32 0, !dbg !20
define i32 @f(i32 %x) !dbg !5 {
    #dbg_value(i32 %x, !9, !DIExpression(), !10)
  %slot = alloca i32, align 4
    #dbg_declare(ptr %slot, !11, !DIExpression(), !12)
  store i32 %x, ptr %slot, align 4, !dbg !12, !DIAssignID !13
    #dbg_assign(i32 %x, !11, !DIExpression(), !13, ptr %slot, !DIExpression(DW_OP_plus_uconst, 0), !12)
  %y = add i32 %x, 1, !dbg !14
    #dbg_value(!DIArgList(i32 %x, i32 %y), !11, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !12)
    #dbg_label(!22, !12)
  ret i32 %y, !dbg !12
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "by hand", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, globals: !19, macros: !23, imports: !2, nameTableKind: GNU)
!1 = !DIFile(filename: "debug.c", directory: "/src", checksumkind: CSK_MD5, checksum: "0123456789abcdef0123456789abcdef", source: "int f(int x);\0A")
!2 = !{}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 7, !"Dwarf Version", i32 5}
!5 = distinct !DISubprogram(name: "f", linkageName: "f", scope: !1, file: !1, line: 1, type: !6, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !2)
!6 = !DISubroutineType(cc: DW_CC_normal, types: !7)
!7 = !{!8, !8}
!8 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!9 = !DILocalVariable(name: "x", arg: 1, scope: !5, file: !1, line: 1, type: !8)
!10 = !DILocation(line: 1, column: 7, scope: !5)
!11 = !DILocalVariable(name: "slot", scope: !15, file: !1, line: 2, type: !16, align: 32)
!12 = !DILocation(line: 2, column: 3, scope: !15)
!13 = distinct !DIAssignID()
!14 = !DILocation(line: 9, column: 1, scope: !17, inlinedAt: !18)
!15 = distinct !DILexicalBlock(scope: !5, file: !1, line: 2, column: 1)
!16 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !8)
!17 = distinct !DISubprogram(name: "inlined", scope: !1, file: !1, line: 8, type: !6, spFlags: DISPFlagDefinition, unit: !0)
!18 = distinct !DILocation(line: 3, column: 2, scope: !5)
!19 = !{!20}
!20 = !DIGlobalVariableExpression(var: !21, expr: !DIExpression())
!21 = distinct !DIGlobalVariable(name: "global", scope: !0, file: !1, line: 4, type: !8, isLocal: false, isDefinition: true)
!22 = !DILabel(scope: !15, name: "here", file: !1, line: 3)
!23 = !{!24}
!24 = !DIMacro(type: DW_MACINFO_define, line: 1, name: "ONE", value: "1")
