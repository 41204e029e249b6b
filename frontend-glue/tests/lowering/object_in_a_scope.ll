; The document's first fragment, made whole: a local variable that holds an object.
; CHECK: @tally.types = internal global [1 x { ptr, i32, i32 }] [{ ptr, i32, i32 } { ptr @pair, i32 0, i32 0 }], align 8
; CHECK: @tally.module = internal global
; CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @tally.register, ptr null }]
; CHECK: define ptr @f(ptr %p)
; CHECK-NOT: gc "refcount"
; CHECK: %r = alloca ptr
; CHECK: store ptr null, ptr %r
; CHECK: store ptr %p, ptr %r
; CHECK: call ptr @llvm.threadlocal.address.p0(ptr @tally_context)
; CHECK: br i1
; CHECK: !prof
; CHECK: !invariant.load
; CHECK: call ptr @tally_new_slow(ptr @tally.types) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: phi ptr
; CHECK: attributes #0 = { uwtable "frame-pointer"="all" "probe-stack"="inline-asm" }
; CHECK-NOT: llvm.gcroot
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)

define ptr @f(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  %q = load ptr, ptr %r
  %slot = getelementptr i8, ptr %o, i64 8
  call void @llvm.gcwrite(ptr %q, ptr %o, ptr %slot)
  ret ptr %o
}
