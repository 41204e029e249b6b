; The module has no root but the object on the stack, so that no call of llvm.gcroot was there before: this one is lowered all the same.
; OPTIONS: stack-objects
; CHECK-LABEL: define i1 @f(
; CHECK: %o.on.stack = alloca [16 x i8]
; CHECK: ret i1
; TOTAL-NOT: @llvm.gcroot
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Some\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
define i1 @f() gc "refcount" {
  %o = call ptr @tally_new(ptr @pair)
  %first = load ptr, ptr %o
  %is_null = icmp eq ptr %first, null
  ret i1 %is_null
}
