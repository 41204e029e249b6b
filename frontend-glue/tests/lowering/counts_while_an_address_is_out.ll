; Others may write to a root from where its address is passed on until its life ends: there it is settled at each safepoint, before and
; behind only where this function has stored to it. An address that goes to functions alone that do not keep it comes back when the call is
; over. Where it may be passed on while the variable is not alive (an optimiser moved that out of a loop), the end of its life tells nothing.
; OPTIONS: operations
; CHECK: define void @passed_on
; CHECK-NOT: tally.count.settle
; CHECK: call void @poke()
; CHECK-NOT: tally.count.settle
; CHECK: call void @show(ptr %r)
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK: store ptr null, ptr %r, {{.*}}!tally.ends
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK-NOT: tally.count.settle
; CHECK: call void @poke()
; CHECK: ret void
; CHECK: define void @passed_down
; CHECK-NOT: tally.count.settle
; CHECK: call void @fill(ptr %pair)
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK-NOT: tally.count.settle
; CHECK: call void @poke()
; CHECK: ret void
; CHECK: define void @passed_on_before_the_loop
; CHECK: body:
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK-NOT: !tally.ends
; CHECK: br i1
; CHECK: define void @by_a_way_of_two
; CHECK: store ptr %p, ptr %either
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @tally.count.settle(i32 1)
; CHECK-NOT: tally.count.settle
; CHECK: call void @poke()
; CHECK: store ptr %p, ptr %other
; CHECK-NOT: tally.count.settle
; CHECK: call void @poke()
; CHECK: define void @in_a_store
; CHECK: store ptr %r, ptr %place
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void @poke()
; CHECK: define void @passed_on_in_a_branch
; CHECK: call void @show(ptr %r)
; CHECK-NOT: tally.count
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke()
; CHECK: define void @beside_an_argument_without_a_root
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: store ptr %made, ptr %tally.argument.{{[0-9]+}}
; CHECK-NOT: tally.count.settle
; CHECK: call ptr @turn(ptr %made)
; CHECK: define void @let_go_before_the_next_call
; CHECK: call void @fill(ptr %pair)
; CHECK: call void @tally.count.settle(i32 0)
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke()
; CHECK: define internal i64 @where_nothing_dies
; CHECK-NOT: tally.count.settle
; CHECK-NOT: tally.count.finish
; CHECK: ret i64
; CHECK: define internal void @that_reports
; CHECK: call void @tally_address_taken_store
; CHECK: call void (...) @tally.count.finish
; CHECK: define void @calls_what_reports
; CHECK: call void @tally.count.own(ptr %{{.*}}, i32 0)
; CHECK: call void @that_reports
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare ptr @tally_new(ptr)
declare void @poke() nounwind
declare void @show(ptr) nounwind

define void @passed_on() nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.lifetime.start.p0(ptr %r)
  call void @poke()
  call void @show(ptr %r)
  call void @poke()
  call void @poke()
  call void @llvm.lifetime.end.p0(ptr %r)
  call void @poke()
  call void @poke()
  ret void
}
define internal void @fill(ptr %to) nounwind gc "refcount-prompt" {
  %o = call ptr @tally_new(ptr @pair)
  store ptr %o, ptr %to
  call void @poke()
  ret void
}
define void @passed_down() nounwind gc "refcount-prompt" {
  %pair = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %pair, ptr @pair)
  call void @fill(ptr %pair)
  call void @poke()
  call void @poke()
  ret void
}
define void @passed_on_before_the_loop(i1 %more) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @show(ptr %r)
  br label %body
body:
  call void @llvm.lifetime.start.p0(ptr %r)
  call void @poke()
  call void @llvm.lifetime.end.p0(ptr %r)
  br i1 %more, label %body, label %end
end:
  ret void
}
define void @by_a_way_of_two(ptr %p, i1 %first, ptr %other) nounwind gc "refcount-prompt" {
  %one = alloca [2 x ptr]
  %two = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %one, ptr @pair)
  call void @llvm.gcroot(ptr %two, ptr @pair)
  %either = select i1 %first, ptr %one, ptr %two
  store ptr %p, ptr %either
  call void @poke()
  store ptr %p, ptr %other
  call void @poke()
  ret void
}
define void @in_a_store(ptr %place) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %r, ptr %place
  call void @poke()
  call void @poke()
  ret void
}
define void @passed_on_in_a_branch(i1 %is_so) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  br i1 %is_so, label %then, label %end
then:
  call void @llvm.lifetime.start.p0(ptr %r)
  call void @show(ptr %r)
  call void @llvm.lifetime.end.p0(ptr %r)
  br label %end
end:
  call void @poke()
  ret void
}
; The slot of an argument that is in no root is written behind where the lent root is settled: that changes no other root.
declare ptr @turn(ptr) nounwind
define void @beside_an_argument_without_a_root(ptr %place) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %r, ptr %place
  %made = call ptr @tally_new(ptr @pair)
  %turned = call ptr @turn(ptr %made)
  store ptr %turned, ptr %r
  ret void
}
; What @fill has stored is held until a drain of this function finds that it is gone.
define void @let_go_before_the_next_call() nounwind gc "refcount-prompt" {
  %pair = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %pair, ptr @pair)
  call void @fill(ptr %pair)
  store ptr null, ptr %pair
  call void @poke()
  ret void
}
define internal i64 @peek(ptr %p) nounwind {
  %o = load ptr, ptr %p
  %v = load i64, ptr %o
  ret i64 %v
}
define internal i64 @where_nothing_dies(ptr %o) nounwind gc "refcount-prompt" {
  %x = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %x, ptr @pair)
  call void @llvm.lifetime.start.p0(ptr %x)
  store ptr %o, ptr %x
  %v = call i64 @peek(ptr %x)
  call void @llvm.lifetime.end.p0(ptr %x)
  ret i64 %v
}
define internal void @that_reports(ptr %to, i64 %number) nounwind gc "refcount-prompt" {
  %second = getelementptr i64, ptr %to, i64 1
  store i64 %number, ptr %second
  ret void
}
define void @calls_what_reports(ptr %o) nounwind gc "refcount-prompt" {
  %held = alloca ptr
  %pair = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %held, ptr null)
  call void @llvm.gcroot(ptr %pair, ptr @pair)
  store ptr %o, ptr %held
  call void @that_reports(ptr %pair, i64 1)
  %v = load i64, ptr %o
  call void @poke()
  ret void
}
