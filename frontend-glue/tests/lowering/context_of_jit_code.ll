; JIT code reaches the context at a constant distance from the thread pointer.
; OPTIONS: fs=-64
; CHECK-NOT: tally_context
; CHECK: load ptr, ptr addrspace(257) inttoptr (i64 -64 to ptr addrspace(257))
; CHECK: load ptr, ptr addrspace(257) inttoptr (i64 -56 to ptr addrspace(257))
; CHECK: load i32, ptr addrspace(257) inttoptr (i64 -48 to ptr addrspace(257))
; CHECK: load i32, ptr addrspace(257) inttoptr (i64 -44 to ptr addrspace(257))
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke()

declare void @tally_safepoint()
define ptr @f() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  call void @tally_safepoint()
  ret ptr null
}
