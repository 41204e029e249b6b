target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Everything that has a name and a linkage, and what points to it.
source_filename = "names.c"
$any = comdat any
$largest = comdat largest
$nodups = comdat nodeduplicate
$group = comdat exactmatch
@any = linkonce_odr global i32 1, comdat
@largest = weak_odr hidden constant [4 x i8] c"abc\00", comdat
@nodups = internal global i64 0, comdat, section ".mine", align 16
@in.group = weak global ptr @any, comdat($group)
@common = common global i32 0
@extern_weak = extern_weak global i32
@thread = thread_local(localexec) global i32 3
@exported = dllexport global i32 5
@far = global i32 1, code_model "large"
@partition = global i32 1, partition "part"
@sanitised = global i32 1, no_sanitize_address, sanitize_memtag
@addrspace = addrspace(1) global i32 1
@externally = externally_initialized global i32 7
@llvm.used = appending global [2 x ptr] [ptr @nodups, ptr @function], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr @common], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 100, ptr @function, ptr @any }]
@alias = alias i32, ptr @any
@middle = hidden unnamed_addr alias i8, getelementptr (i8, ptr @largest, i64 2)
@function.alias = weak alias void (), ptr @function
@chosen = ifunc i32 (i32), ptr @resolve
@relative = constant i32 trunc (i64 sub (i64 ptrtoint (ptr dso_local_equivalent @function to i64), i64 ptrtoint (ptr @relative to i64)) to i32)
@no.cfi = constant ptr no_cfi @function
define void @function() comdat($group) {
  ret void
}
define internal i32 @one(i32 %x) {
  ret i32 %x
}
define ptr @resolve() {
  ret ptr @one
}
define available_externally i32 @elsewhere() {
  ret i32 3
}
define linkonce i32 @calls(i32 %x) section ".text.mine" partition "part" align 32 prefix i32 7 prologue i8 -112 {
  %a = call i32 @chosen(i32 %x)
  call void @function.alias()
  %b = call i32 @elsewhere()
  %c = add nuw nsw i32 %a, %b
  ret i32 %c
}
