; Zeal: an epoch after every safepoint with its result protected, a check before every access to what may be an object, and the place
; before every safepoint. Values without names have those that LLVM prints.
; OPTIONS: zeal
; CHECK: define i64 @f(ptr %p)
; CHECK: %tally.in_flight{{-?[0-9]+}} = alloca i32
; CHECK: %tally.in_flight = alloca ptr
; CHECK: call void @tally_zeal_here(ptr @.tally.site
; CHECK: call ptr @tally_new_slow(ptr @tally.types) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: store ptr %o, ptr %tally.in_flight
; CHECK: call void @tally_zeal_safepoint(ptr %tally.in_flight, i64 8, ptr @.tally.site{{.*}}) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @tally_zeal_write(ptr %o, ptr %slot, i64 1, ptr @.tally.site
; CHECK: call preserve_mostcc void @tally_log_slow(
; CHECK: call void @tally_zeal_access(ptr %q, ptr @
; CHECK: load i64, ptr %q
; CHECK: call void @poke() [ "deopt"() ]
; CHECK: call void @tally_zeal_safepoint(ptr null, i64 0, ptr @.tally.site{{.*}}) [ "deopt"() ]
; CHECK: invoke i32 @g() [ "deopt"() ]
; CHECK: store i32 %x, ptr %tally.in_flight
; CHECK: call void @tally_zeal_safepoint(ptr %tally.in_flight{{-?[0-9]+}}, i64 4, ptr @.tally.site{{.*}}) [ "deopt"() ]
; CHECK: define i64 @helper(ptr %p, ptr %"0")
; CHECK: call void @tally_zeal_fill(ptr %p, i64 0, i64 8, ptr @
; CHECK: call void @tally_zeal_access(ptr %p, ptr @
; CHECK: call void @tally_zeal_store(ptr %p, i64 %x, ptr @
; CHECK: call void @tally_zeal_copy(ptr %"2", ptr %p, i64 16, ptr @
; TOTAL-COUNT-2: call void @tally_zeal_access(
; TOTAL-NOT: call void @tally_zeal_access(
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)

declare void @poke()
declare i32 @g()
declare i32 @__gxx_personality_v0(...)
@counter = global i64 0
define i64 @f(ptr %p) gc "refcount" personality ptr @__gxx_personality_v0 {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  %slot = getelementptr i8, ptr %o, i64 8
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %slot)
  %q = load ptr, ptr %r
  %f = load i64, ptr %q
  call void @poke()
  store i64 1, ptr @counter
  %x = invoke i32 @g() to label %next unwind label %pad
next:
  ret i64 %f
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
define i64 @helper(ptr %p, ptr %0) {
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
  %x = load i64, ptr %p
  store i64 %x, ptr %p
  %2 = getelementptr i8, ptr %0, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %2, ptr %p, i64 16, i1 false)
  ret i64 %x
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
