; Hazard: a frontend's own "deopt" bundles beside live roots: its state stands in the map among them, and is none of them. At calls that
; unwind, are inlined, allocate, or go to leaves; state of every kind, a pointer that looks like a root among it.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @__gcc_personality_v0(...)

define internal void @inlined(i64 %n) alwaysinline gc "refcount" {
  call void @churn() [ "deopt"(i64 %n, i64 0) ]
  ret void
}

define i32 @main() gc "refcount" personality ptr @__gcc_personality_v0 {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %memory = alloca i64
  store i64 5, ptr %memory
  %box = call ptr @box(i64 7) [ "deopt"(i32 1) ]
  store ptr %box, ptr %root
  %wide = insertelement <4 x float> poison, float 1.0, i32 0
  call void @churn() [ "deopt"(i64 1, ptr %memory, i64 2, ptr null, i8 3, double 2.5, <4 x float> %wide, i128 4, ptr %box) ]
  call void @inlined(i64 9) [ "deopt"(i64 3, ptr %root) ]
  call void @expect(ptr %box, i64 7) [ "deopt"(i64 1, ptr %memory, i32 6) ]
  invoke void @churn() [ "deopt"() ] to label %done unwind label %thrown
done:
  call void @churn()
  call void @expect(ptr %box, i64 7)
  ret i32 0
thrown:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
