; The runtime never unwinds: an invoke of it becomes inline code or a call, and the landing pad forgets the edge.
; CHECK: define ptr @f
; CHECK-NOT: invoke ptr @tally_new
; CHECK-NOT: invoke void @tally_gcwrite_i64
; CHECK: call ptr @tally_new_slow(ptr @tally.types) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: invoke void @g() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: %why = phi i32 [ 3, %third ]
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [4 x i8] c"Box\00"
@box = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @g()
declare i32 @__gxx_personality_v0(...)
define ptr @f(ptr %p) gc "refcount" personality ptr @__gxx_personality_v0 {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = invoke ptr @tally_new(ptr @box) to label %second unwind label %pad
second:
  %q = load ptr, ptr %r
  store ptr %o, ptr %r
  invoke void @tally_gcwrite_i64(i64 0, ptr %q, ptr %q) to label %third unwind label %pad
third:
  invoke void @g() to label %done unwind label %pad
done:
  %n = load ptr, ptr %r
  ret ptr %n
pad:
  %why = phi i32 [ 1, %entry ], [ 2, %second ], [ 3, %third ]
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
