; ERROR-DAG: prog.c:41: in @f: gcwrite with a null object
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @f(ptr %v) gc "refcount" !dbg !4 {
  call void @llvm.gcwrite(ptr %v, ptr null, ptr %v), !dbg !6
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, isOptimized: false, emissionKind: FullDebug)
!1 = !DIFile(filename: "prog.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 41, column: 3, scope: !4)
