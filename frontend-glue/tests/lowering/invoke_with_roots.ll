; scenario 124
; An invoke gets its bundle like a call; what is live on the unwind path counts.
; CHECK: invoke fastcc i32 @g(ptr byval(i64) %b, i32 signext 7) #{{-?[0-9]+}} [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: to label %next unwind label %pad
; CHECK: landingpad
declare void @llvm.gcroot(ptr, ptr)
declare fastcc i32 @g(ptr byval(i64), i32 signext)
declare i32 @__gxx_personality_v0(...)
declare void @look(ptr) "gc-leaf-function"
define i32 @f(ptr %p, ptr %b) gc "refcount" personality ptr @__gxx_personality_v0 {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %x = invoke fastcc i32 @g(ptr byval(i64) %b, i32 signext 7) cold to label %next unwind label %pad
next:
  %y = phi i32 [ %x, %entry ]
  ret i32 %y
pad:
  %l = landingpad { ptr, i32 } cleanup
  %o = load ptr, ptr %r
  call void @look(ptr %o)
  resume { ptr, i32 } %l
}
