; Hazard: a call through a pointer that returns [12 x i64] and may unwind: thunk, invoke and edge to be split in one.
; WITH: native.c
; Without a thunk the code generator crashes.
; WITHOUT result-thunks at 2: crash|LLVM gave up
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @__gcc_personality_v0(...)
declare void @throw()

@function = global ptr @result
@copy = global [12 x i64] zeroinitializer

define [12 x i64] @result(i1 %throw) noinline gc "refcount" {
  call void @churn()
  br i1 %throw, label %unwind, label %return
unwind:
  call void @throw()
  unreachable
return:
  %value = insertvalue [12 x i64] zeroinitializer, i64 41, 11
  ret [12 x i64] %value
}

define i64 @try(i1 %throw) gc "refcount" personality ptr @__gcc_personality_v0 {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %function = load ptr, ptr @function
  %value = invoke [12 x i64] %function(i1 %throw) to label %normal unwind label %landing
normal:
  %member = extractvalue [12 x i64] %value, 11
  br label %done
landing:
  %pad = landingpad { ptr, i32 } cleanup
  call void @churn()
  br label %done
done:
  %result = phi i64 [ %member, %normal ], [ 1, %landing ]
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i64 %result
}

define i32 @main() {
  %normal = call i64 @try(i1 false)
  %thrown = call i64 @try(i1 true)
  %sum = add i64 %normal, %thrown
  %status = sub i64 %sum, 42
  %short = trunc i64 %status to i32
  ret i32 %short
}
