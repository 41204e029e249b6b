; scenarios 119, 124
; Exceptions let roots go: a call that may throw becomes an invoke of a pad of the lowering's own, in a function without
; personality with the C one. Pads that are there are used: a handler goes on with its roots, a cleanup lets them go at its
; end; a hidden root of the call that threw is let go where the exception arrives. What cannot throw stays a call, and
; functions that let nothing out have no pad.
; OPTIONS: operations
; CHECK: define void @without_a_pad() {{.*}} personality ptr @__gcc_personality_v0
; CHECK: invoke void @throw()
; CHECK: unwind label %tally.unwind
; CHECK: tally.unwind:
; CHECK: cleanup
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK-NOT: tally.count.drain
; CHECK: resume
; CHECK: define void @with_a_handler
; CHECK: invoke void @throw_at(ptr %o)
; CHECK: landingpad
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 1)
; CHECK: call void @tally.count.own
; CHECK: call void (...) @tally.count.drain
; CHECK: call void @poke
; CHECK: ret void
; CHECK: define void @with_a_shared_pad
; CHECK: cleanup
; CHECK: call void @tally.count.drop(ptr {{.*}}, i32 0)
; CHECK: resume
; CHECK: define void @of_what_throws_nothing
; CHECK-NOT: invoke
; CHECK: call void @harmless
; CHECK: define void @that_lets_nothing_out
; CHECK-NOT: invoke
; CHECK: call void @throw()
; CHECK: define void @leaf_that_throws
; CHECK: call void @tally.count.own
; CHECK-NOT: tally.count.drain
; CHECK: invoke void @leaf()
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind

declare void @throw()
declare void @throw_at(ptr)
declare void @leaf() "gc-leaf-function"
declare i32 @__gxx_personality_v0(...)
define internal void @harmless() noinline gc "refcount-prompt" {
  call void @poke()
  ret void
}
define void @without_a_pad() gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %r
  call void @throw()
  ret void
}
define void @with_a_handler(ptr %p) gc "refcount-prompt" personality ptr @__gxx_personality_v0 {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = call ptr @tally_new(ptr @pair)
  invoke void @throw_at(ptr %o) to label %on unwind label %catch
on:
  ret void
catch:
  %pad = landingpad { ptr, i32 } catch ptr null
  store ptr %p, ptr %r
  call void @poke()
  ret void
}
define void @with_a_shared_pad(ptr %p) gc "refcount-prompt" personality ptr @__gxx_personality_v0 {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  invoke void @throw() to label %on unwind label %cleanup
on:
  %q = load ptr, ptr %p
  store ptr %q, ptr %r
  invoke void @throw() to label %end unwind label %cleanup
end:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
define void @of_what_throws_nothing(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @harmless()
  ret void
}
define void @that_lets_nothing_out(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @throw()
  ret void
}
define void @leaf_that_throws(ptr %p) gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %o = load ptr, ptr %p
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  call void @leaf()
  %v = load volatile i64, ptr %o
  ret void
}
