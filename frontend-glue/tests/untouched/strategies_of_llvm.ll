target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Functions of every strategy that LLVM lowers itself, with roots, barriers, statepoints and calls of functions of ours that make no objects.
@object = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare void @tally_collect()
declare void @tally_gcwrite_i64(i64, ptr, ptr)
define ptr @stack(ptr %x) gc "shadow-stack" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %x, ptr %root
  call void @llvm.gcwrite(ptr %x, ptr null, ptr @object)
  %y = call ptr @llvm.gcread(ptr null, ptr @object)
  ret ptr %y
}
define void @caml() gc "ocaml" {
  call void @tally_collect()
  ret void
}
define void @beam() gc "erlang" {
  ret void
}
define void @net() gc "coreclr" {
  ret void
}
define i32 @points(ptr addrspace(1) %x) gc "statepoint-example" {
  %t = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 7, i32 0, ptr elementtype(void ()) @caml, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr addrspace(1) %x), "deopt"(i32 1) ]
  %y = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %t, i32 0, i32 0)
  %z = load i32, ptr addrspace(1) %y
  ret i32 %z
}
declare token @llvm.experimental.gc.statepoint.p0(i64 immarg, i32 immarg, ptr, i32 immarg, i32 immarg, ...)
declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32 immarg, i32 immarg)
