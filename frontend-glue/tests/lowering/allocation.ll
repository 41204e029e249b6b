; Objects: small ones inline, everything else through the runtime, by handle where the descriptor is known here.
; CHECK: @tally.types = internal global [5 x { ptr, i32, i32 }]
; CHECK: define ptr @many_references
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %{{-?[0-9]+}}, i8 0, i64 80, i1 false)
; CHECK: define ptr @no_references
; CHECK: getelementptr i8, ptr %{{-?[0-9]+}}, i64 16
; CHECK-NOT: store i64 0
; CHECK: define ptr @aligned
; CHECK-NOT: !prof
; CHECK: call ptr @tally_new_slow(ptr getelementptr inbounds (i8, ptr @tally.types, i64 32)) [ "deopt"() ]
; CHECK: define ptr @large
; CHECK-NOT: !prof
; CHECK: call ptr @tally_new_slow(ptr getelementptr inbounds (i8, ptr @tally.types, i64 48)) [ "deopt"() ]
; CHECK: define ptr @elsewhere
; CHECK: call ptr @tally_new(ptr @foreign) [ "deopt"() ]
; CHECK: define ptr @chosen
; CHECK: call ptr @tally_new(ptr %which) [ "deopt"() ]
; CHECK: define ptr @replaceable
; CHECK: call ptr @tally_new(ptr @weak) [ "deopt"() ]
; CHECK: define ptr @array
; CHECK: icmp ule i64 %n, 1022
; CHECK: br i1 {{.*}}!prof
; CHECK: mul i64 %n, 8
; CHECK-NEXT: add i64 {{.*}}, 23
; CHECK: icmp ule ptr
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %{{-?[0-9]+}}, i8 0, i64 %{{-?[0-9]+}}, i1 false)
; CHECK: store i64 %n,
; CHECK: call ptr @tally_new_array_slow(ptr getelementptr inbounds (i8, ptr @tally.types, i64 64), i64 %n) [ "deopt"() ]
; CHECK: define ptr @array_elsewhere
; CHECK: call ptr @tally_new_array(ptr @foreign, i64 %n) [ "deopt"() ]
; CHECK: define ptr @array_of_none
; CHECK: call ptr @tally_new(ptr @row) [ "deopt"() ]
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [2 x i8] c"T\00"
@ten = private constant [10 x i32] [i32 0, i32 8, i32 16, i32 24, i32 32, i32 40, i32 48, i32 56, i32 64, i32 72]
@zero = private constant [1 x i32] zeroinitializer
@many = constant %tally_type { i32 1, i32 0, i64 80, i32 0, i32 0, i64 0, i64 0, i64 0, i32 10, i32 0, ptr @ten, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@none = constant %tally_type { i32 1, i32 0, i64 3, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@wide = constant %tally_type { i32 1, i32 0, i64 64, i32 64, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@big = constant %tally_type { i32 1, i32 0, i64 8192, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@row = constant { i32, i32, i64, i32, i32, [3 x i64], i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr } { i32 1, i32 0, i64 8, i32 0, i32 0, [3 x i64] zeroinitializer, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @zero, ptr @name, ptr null, ptr null, ptr null, ptr null }
@weak = weak constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@foreign = external constant %tally_type
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
define ptr @many_references() gc "refcount" {
  %o = call ptr @tally_new(ptr @many)
  ret ptr %o
}
define ptr @no_references() gc "refcount" {
  %o = call ptr @tally_new(ptr @none)
  ret ptr %o
}
define ptr @aligned() gc "refcount" {
  %o = call ptr @tally_new(ptr @wide)
  ret ptr %o
}
define ptr @large() gc "refcount" {
  %o = call ptr @tally_new(ptr @big)
  ret ptr %o
}
define ptr @elsewhere() gc "refcount" {
  %o = call ptr @tally_new(ptr @foreign)
  ret ptr %o
}
define ptr @chosen(ptr %which) gc "refcount" {
  %o = call ptr @tally_new(ptr %which)
  ret ptr %o
}
define ptr @replaceable() gc "refcount" {
  %o = call ptr @tally_new(ptr @weak)
  ret ptr %o
}
define ptr @array(i64 %n) gc "refcount" {
  %o = call ptr @tally_new_array(ptr @row, i64 %n)
  ret ptr %o
}
define ptr @array_elsewhere(i64 %n) gc "refcount" {
  %o = call ptr @tally_new_array(ptr @foreign, i64 %n)
  ret ptr %o
}
define ptr @array_of_none() gc "refcount" {
  %o = call ptr @tally_new(ptr @row)
  ret ptr %o
}
