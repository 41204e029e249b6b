; LLVM 22 cannot carry these results through a bundled call (a crash, or `call 0`): a thunk hands them over in memory.
; CHECK: define i64 @four(ptr %p)
; CHECK: %tally.result = alloca { i64, i64, i64, i64 }
; CHECK: call void @tally.ret.0(ptr %tally.result, ptr %p, i32 signext 1) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: %x = load { i64, i64, i64, i64 }, ptr %tally.result
; CHECK: define x86_fp80 @indirect_and_invoked
; CHECK: invoke void @tally.ret.1(ptr %tally.result, ptr %g) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: phi x86_fp80
; CHECK: define <32 x float> @variadic_without_gc
; CHECK: call void @tally.ret.2(ptr %tally.result, i32 2, double 1.000000e+00, ptr byval(i64) %b) [ "deopt"() ]
; CHECK: define internal void @tally.ret.0(ptr %0, ptr %1, i32 signext %2) #
; CHECK: call fastcc { i64, i64, i64, i64 } @g4(ptr %1, i32 signext %2)
; CHECK: store { i64, i64, i64, i64 }
; CHECK: define internal void @tally.ret.1(ptr %0, ptr %1) #
; CHECK: call x86_fp80 %1()
; CHECK: define internal void @tally.ret.2(ptr %0, i32 %1, double %2, ptr byval(i64) %3) #
; CHECK: call <32 x float> (i32, ...) @v(i32 %1, double %2, ptr byval(i64) %3)
; TOTAL-COUNT-3: define internal void @tally.ret.
; TOTAL-NOT: define internal void @tally.ret.
declare void @llvm.gcroot(ptr, ptr)
declare fastcc { i64, i64, i64, i64 } @g4(ptr, i32 signext)
declare <32 x float> @v(i32, ...)
declare i32 @__gxx_personality_v0(...)
define i64 @four(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %x = call fastcc { i64, i64, i64, i64 } @g4(ptr %p, i32 signext 1)
  %y = call fastcc { i64, i64, i64, i64 } @g4(ptr %p, i32 signext 1)
  %a = extractvalue { i64, i64, i64, i64 } %x, 2
  %b = extractvalue { i64, i64, i64, i64 } %y, 3
  %o = load ptr, ptr %r
  %f = load i64, ptr %o
  %s = add i64 %a, %b
  %t = add i64 %s, %f
  ret i64 %t
}
define x86_fp80 @indirect_and_invoked(ptr %p, ptr %g) gc "refcount" personality ptr @__gxx_personality_v0 {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %x = invoke x86_fp80 %g() to label %join unwind label %pad
pad:
  %l = landingpad { ptr, i32 } cleanup
  br label %join
join:
  %y = phi x86_fp80 [ %x, %entry ], [ 0xK3FFF8000000000000000, %pad ]
  %o = load ptr, ptr %r
  %f = load volatile i64, ptr %o
  ret x86_fp80 %y
}
define <32 x float> @variadic_without_gc(ptr %b) {
  %x = call <32 x float> (i32, ...) @v(i32 2, double 1.0, ptr byval(i64) %b)
  ret <32 x float> %x
}
