; Hazard: under the prompt plan a call that may throw becomes an invoke, and an invoke of what cannot throw becomes a call. Not all
; that a call may carry is allowed on an invoke, nor the other way round. The landing pads that the lowering adds must have
; the type of the program's own.
; WITH: native.c
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @__gcc_personality_v0(...)
declare void @throw()

%landed = type { i64, i64 }

define double @number(i64 %value) noinline gc "refcount" {
  call void @churn()
  %number = sitofp i64 %value to double
  ret double %number
}
define i64 @quiet(i64 %value) noinline nounwind gc "refcount" {
  ret i64 %value
}
define void @inner(i64 %value) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value), !tbaa !0, !noalias.addrspace !3, !prof !4
  store ptr %box, ptr %root
  %number = call fast double @number(i64 %value), !tbaa !0, !fpmath !6
  %back = fptosi double %number to i64
  call void @expect(ptr %box, i64 %back)
  notail call void @churn(), !tbaa !0, !alias.scope !9, !noalias !9
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  call void @throw(), !tbaa !0
  ret void
}
define void @no_personality_to_speak_of(i64 %value) gc "refcount" personality ptr null {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  call void @inner(i64 %value)
  ret void
}
define i32 @outer() gc "refcount" personality ptr @__gcc_personality_v0 {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %quiet = invoke i64 @quiet(i64 9) to label %further unwind label %landing, !prof !5
further:
  %box = invoke ptr @box(i64 %quiet) to label %calling unwind label %landing, !prof !5
calling:
  store ptr %box, ptr %root
  invoke void @no_personality_to_speak_of(i64 5) to label %returned unwind label %landing, !prof !5
returned:
  ret i32 1
landing:
  %landed = landingpad %landed cleanup
  call void @churn(), !tbaa !0
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 9)
  ret i32 0
}
define void @never_run() gc "refcount" personality ptr @__gcc_personality_v0 {
  resume %landed zeroinitializer
}
define i32 @main() gc "refcount" {
  %status = call i32 @outer()
  ret i32 %status
}
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2}
!2 = !{!"root"}
!3 = !{i32 5, i32 6}
!4 = !{!"branch_weights", i32 7}
!5 = !{!"branch_weights", i32 7, i32 1}
!6 = !{float 2.5}
!7 = distinct !{!7}
!8 = distinct !{!8, !7}
!9 = !{!8}
