; Hazard: invokes: roots must be found from calls in landing pads, and after them, in frames that an exception went through.
; scenarios 121, 124.
; WITH: native.c
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @__gcc_personality_v0(...)
declare void @throw()

define void @deep(i64 %depth) gc "refcount" personality ptr @__gcc_personality_v0 {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %depth)
  store ptr %box, ptr %root
  %less = sub i64 %depth, 1
  %last = icmp eq i64 %depth, 0
  br i1 %last, label %bottom, label %inner
bottom:
  call void @churn()
  call void @throw()
  unreachable
inner:
  invoke void @deep(i64 %less) to label %normal unwind label %landing
normal:
  ret void
landing:
  %pad = landingpad { ptr, i32 } cleanup
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %depth)
  %stop = icmp eq i64 %depth, 20
  br i1 %stop, label %done, label %on
on:
  resume { ptr, i32 } %pad
done:
  call void @expect(ptr %box, i64 %depth)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @deep(i64 20)
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
