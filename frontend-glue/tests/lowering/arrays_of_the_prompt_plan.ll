; Small arrays are taken from the list of their size, which is computed: the first is that of 16 bytes. An array whose fixed part alone
; fills the largest such cell is allocated by the runtime, as are one with an alignment of its own and one whose objects have numbers.
; OPTIONS: plan=refcount-prompt patterns=all fs=-1024
; CHECK: define internal ptr @words.owned(i64 %n)
; CHECK-NEXT: [[SMALL:%[0-9]+]] = icmp ule i64 %n, 14
; CHECK-NEXT: br i1 [[SMALL]], label %{{[0-9]+}}, label %{{[0-9]+}}, !prof
; CHECK: [[TAIL:%[0-9]+]] = mul i64 %n, 8
; CHECK-NEXT: [[ALL:%[0-9]+]] = add i64 [[TAIL]], 23
; CHECK-NEXT: [[CELL:%[0-9]+]] = and i64 [[ALL]], -8
; CHECK-NEXT: [[DISTANCE:%[0-9]+]] = sub i64 [[CELL]], 16
; CHECK-NEXT: [[LIST:%[0-9]+]] = getelementptr i8, ptr addrspace(257) inttoptr (i64 -896 to ptr addrspace(257)), i64 [[DISTANCE]]
; CHECK-NEXT: [[FIRST:%[0-9]+]] = load ptr, ptr addrspace(257) [[LIST]]
; CHECK: [[NEXT:%[0-9]+]] = load ptr, ptr [[FIRST]]
; CHECK-NEXT: store ptr [[NEXT]], ptr addrspace(257) [[LIST]]
; CHECK: [[BYTES:%[0-9]+]] = sub i64 [[CELL]], 8
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 8 [[FIRST]], i8 0, i64 [[BYTES]], i1 false)
; CHECK-NEXT: store i64 %n, ptr [[FIRST]]
; CHECK: call ptr @tally_new_array_slow(
; CHECK: phi ptr [ [[FIRST]],
; CHECK: define internal ptr @of_bytes.owned(i64 %n)
; CHECK-NEXT: icmp ule i64 %n, 104
; CHECK: mul i64 %n, 1
; CHECK-NEXT: add i64 %{{[0-9]+}}, 31
; CHECK: store i64 %n, ptr [[LENGTH:%[0-9]+]]
; CHECK: define internal ptr @wide.owned(i64 %n)
; CHECK-NOT: icmp
; CHECK: call ptr @tally_new_array_slow(
; CHECK: define internal ptr @aligned.owned(i64 %n)
; CHECK-NOT: icmp
; CHECK: call ptr @tally_new_array_slow(
; CHECK: define internal ptr @numbered.owned(i64 %n)
; CHECK-NOT: icmp
; CHECK: call ptr @tally_new_array_slow(
; OPTIMISED: call void @llvm.memset.p0.i64({{.*}}, i8 0, i64 16, i1 false)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [2 x i8] c"T\00"
@zero = private constant [1 x i32] zeroinitializer
@row = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @zero, ptr @name, ptr null, ptr null, ptr null, ptr null }
@bytes = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 8, i64 1, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@wide_row = constant %tally_type { i32 1, i32 0, i64 120, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @zero, ptr @name, ptr null, ptr null, ptr null, ptr null }
@aligned_row = constant %tally_type { i32 1, i32 0, i64 16, i32 16, i32 0, i64 0, i64 0, i64 0, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @zero, ptr @name, ptr null, ptr null, ptr null, ptr null }
@numbered_row = constant %tally_type { i32 1, i32 4, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @zero, ptr @name, ptr @close, ptr null, ptr null, ptr null }
declare ptr @tally_new_array(ptr, i64)
declare void @close(ptr)
define ptr @words(i64 %n) gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @row, i64 %n)
  ret ptr %o
}
define ptr @of_bytes(i64 %n) gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @bytes, i64 %n)
  ret ptr %o
}
define ptr @wide(i64 %n) gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @wide_row, i64 %n)
  ret ptr %o
}
define ptr @aligned(i64 %n) gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @aligned_row, i64 %n)
  ret ptr %o
}
define ptr @numbered(i64 %n) gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @numbered_row, i64 %n)
  ret ptr %o
}
define ptr @of_two() gc "refcount-prompt" {
  %o = call ptr @tally_new_array(ptr @row, i64 2)
  ret ptr %o
}
