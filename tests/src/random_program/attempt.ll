; Stops what the measure throws, with roots in a frame that has a landing pad of its own. The reference is built without the lines that
; declare roots.
declare i32 @__gcc_personality_v0(...)
declare void @llvm.gcroot(ptr, ptr)
define i64 @attempt(ptr %measure, ptr %p, ptr %q, i64 %n, i32 %depth) gc "refcount" personality ptr @__gcc_personality_v0 {
  %one = alloca ptr
  %other = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  call void @llvm.gcroot(ptr %other, ptr null)
  store ptr %p, ptr %one
  store ptr %q, ptr %other
  %x = invoke i64 %measure(ptr %p, ptr %q, i64 %n, i32 %depth) to label %done unwind label %landing
done:
  %whole = call i64 @tag(ptr %other, i64 %x)
  ret i64 %whole
landing:
  %pad = landingpad { ptr, i32 } cleanup
  %stopped = call i64 @tag(ptr %one, i64 4711)
  ret i64 %stopped
}
define internal i64 @tag(ptr %root, i64 %mixed) alwaysinline {
  %object = load ptr, ptr %root
  %none = icmp eq ptr %object, null
  br i1 %none, label %without, label %with
with:
  %tag = load i64, ptr %object
  %sum = add i64 %tag, %mixed
  ret i64 %sum
without:
  ret i64 %mixed
}
