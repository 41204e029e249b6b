; A module whose types read words in two ways does not know which one a write means: each is a call.
; OPTIONS: plan=refcount-prompt
; CHECK: define void @write
; CHECK-NEXT: call void @tally_gcwrite_i64
; CHECK-NEXT: ret void
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@refs = private constant [1 x i32] [i32 0]
@low = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@plain = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@high = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 2, i64 -281474976710656, i64 -1125899906842624, i64 281474976710655, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)

define void @write(i64 %word, ptr %object, ptr %slot) nounwind "gc-leaf-function" gc "refcount" {
  call void @tally_gcwrite_i64(i64 %word, ptr %object, ptr %slot)
  ret void
}
define ptr @make() nounwind gc "refcount" {
  %root = alloca i64
  call void @llvm.gcroot(ptr %root, ptr @high)
  store i64 0, ptr %root
  %low = call ptr @tally_new(ptr @low)
  ret ptr %low
}
