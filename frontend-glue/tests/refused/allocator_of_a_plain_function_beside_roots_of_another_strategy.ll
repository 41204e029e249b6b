; REFUSED: :12: in @make: @llvm_gc_allocate allocates on Tally's heap, but Tally cannot read roots of gc "coreclr" in @main; put statepoints in by opt -passes=rewrite-statepoints-for-gc, or give its functions gc "refcount": --gc-name coreclr=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
define ptr @make() !dbg !4 {
  %object = call ptr @llvm_gc_allocate(i32 16), !dbg !6
  ret ptr %object
}
define i32 @main() gc "coreclr" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @make()
  store ptr %object, ptr %root
  ret i32 0
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "program.x", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "make", file: !1, line: 11, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{null}
!6 = !DILocation(line: 12, scope: !4)
