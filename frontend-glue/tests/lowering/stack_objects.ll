; An object whose address stays in its function is a variable of the frame: no allocation, no safepoint, no root that holds nothing
; else. Its references are roots, which the descriptor of its type describes.
; OPTIONS: stack-objects
; CHECK-LABEL: define double @data(
; CHECK-NOT: tally
; CHECK-LABEL: define void @references(
; CHECK: %p.on.stack = alloca [16 x i8]
; CHECK: call void @llvm.memset.p0.i64(ptr align 8 %p.on.stack
; CHECK: store ptr null, ptr %p.on.stack
; CHECK: store ptr null, ptr
; CHECK: store ptr %v, ptr %p.on.stack
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %p.on.stack) ]
; CHECK-NOT: tally_new
; CHECK-LABEL: define void @in_a_loop(
; CHECK-NOT: tally_new
; CHECK-LABEL: define internal ptr @vector_of(
; CHECK-LABEL: define double @of_a_maker_of_a_maker(
; CHECK: call double @length(
; CHECK-NOT: tally_new
; CHECK-LABEL: define i64 @written_by_a_small_leaf(
; CHECK-NOT: call void @set_first
; CHECK: store ptr %v
; CHECK-NOT: tally_
; CHECK-LABEL: define void @in_a_variable(
; CHECK-NOT: tally_new
; CHECK-LABEL: define void @invoked(
; CHECK-NOT: tally_new
; CHECK: resume
; OPTIMISED: define double @data(
; OPTIMISED-NEXT: ret double %x
; REMARK-DAG: in @data: remark: no allocation: this object of `vector` cannot escape, and is on the stack [-Rpass=tally-stack]
; REMARK-DAG: in @references: remark: no allocation: this object of `pair`
; REMARK-DAG: in @in_a_loop: remark: no allocation
; REMARK-DAG: in @of_a_maker_of_a_maker: remark: no allocation
; REMARK-DAG: in @written_by_a_small_leaf: remark: no allocation
; REMARK-DAG: in @in_a_variable: remark: no allocation
; REMARK-DAG: in @invoked: remark: no allocation
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Some\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@vector = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@kept = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @poke()
declare i32 @__gcc_personality_v0(...)

define double @data(double %x) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %o = call ptr @tally_new(ptr @vector)
  store ptr %o, ptr %r
  %y = getelementptr i8, ptr %o, i64 8
  store double %x, ptr %y
  %again = load ptr, ptr %r
  %z = getelementptr i8, ptr %again, i64 8
  %v = load double, ptr %z
  ret double %v
}
define void @references() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  %v = load ptr, ptr @kept
  store ptr %p, ptr %r
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  call void @poke()
  %first = call ptr @llvm.gcread(ptr %p, ptr %p)
  store i64 1, ptr %first
  ret void
}
define void @in_a_loop(i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %more, %loop ]
  %o = call ptr @tally_new(ptr @vector)
  store ptr %o, ptr %r
  call void @poke()
  %again = load ptr, ptr %r
  store i64 %i, ptr %again
  %read = load i64, ptr %again
  %more = add i64 %i, 1
  %done = icmp eq i64 %more, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
define internal ptr @vector_of(double %x) gc "refcount" {
  %o = call ptr @tally_new(ptr @vector)
  store double %x, ptr %o
  ret ptr %o
}
define internal ptr @twice(ptr %v) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %v, ptr %r
  %x = load double, ptr %v
  %more = fadd double %x, %x
  %o = call ptr @vector_of(double %more)
  ret ptr %o
}
define internal double @length(ptr %v) noinline {
  %x = load double, ptr %v
  ret double %x
}
define double @of_a_maker_of_a_maker(ptr %v) gc "refcount" {
  %o = call ptr @twice(ptr %v)
  %l = call double @length(ptr %o)
  ret double %l
}
define internal void @set_first(ptr %p, ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr %p, ptr %p)
  ret void
}
define i64 @written_by_a_small_leaf() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %p = call ptr @tally_new(ptr @pair)
  store ptr %p, ptr %r
  %v = load ptr, ptr @kept
  call void @set_first(ptr %p, ptr %v)
  %first = load ptr, ptr %p
  %x = load i64, ptr %first
  ret i64 %x
}
define void @in_a_variable(i1 %c) gc "refcount" {
entry:
  %r = alloca ptr
  %a = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %c, label %one, label %end
one:
  %o = call ptr @tally_new(ptr @vector)
  store ptr %o, ptr %r
  store ptr %o, ptr %a
  br label %end
end:
  call void @poke()
  %again = load ptr, ptr %r
  %none = icmp eq ptr %again, null
  br i1 %none, label %nothing, label %something
something:
  store i64 1, ptr %again
  %read = load i64, ptr %again
  br label %nothing
nothing:
  ret void
}
define void @invoked() gc "refcount" personality ptr @__gcc_personality_v0 {
entry:
  %o = invoke ptr @tally_new(ptr @vector) to label %next unwind label %pad
next:
  store i64 1, ptr %o
  %read = load i64, ptr %o
  ret void
pad:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}
