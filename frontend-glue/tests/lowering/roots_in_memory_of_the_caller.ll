; A struct that is passed or returned in memory of the caller, and is a root, gets a variable of the function: filled from the
; parameter at the entry, or copied to where the result belongs at each return, and before a guaranteed tail call.
%three = type { ptr, ptr, i64 }
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@three.refs = private constant [2 x i32] [i32 0, i32 8]
@three.name = private constant [6 x i8] c"three\00"
@three = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @three.refs,
    i64 0, i64 0, ptr null, ptr @three.name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @work()
declare void @reads(ptr)
declare i32 @__gcc_personality_v0(...)

; CHECK: define i64 @taken(ptr byval(%three) align 32 %p)
; CHECK: = alloca %three, align 32
; CHECK: call void @llvm.memcpy{{.*}}ptr align 32 %p, i64 24
; CHECK: call void @work()
define i64 @taken(ptr byval(%three) align 32 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  call void @work()
  %at = getelementptr %three, ptr %p, i64 0, i32 2
  %v = load i64, ptr %at
  ret i64 %v
}

; CHECK: define void @returned(ptr noalias sret(%three) align 8 %out, i1 %c)
; CHECK-NOT: memcpy
; CHECK: early:
; CHECK: call void @llvm.memcpy{{.*}}ptr align 8 %out, ptr {{.*}}, i64 24
; CHECK: ret void
; CHECK-NOT: memcpy
; CHECK: late:
; CHECK: @work()
; CHECK: call void @llvm.memcpy{{.*}}ptr align 8 %out, ptr {{.*}}, i64 24
; CHECK: ret void
define void @returned(ptr noalias sret(%three) align 8 %out, i1 %c) gc "refcount" {
  call void @llvm.gcroot(ptr %out, ptr @three)
  call void @work()
  br i1 %c, label %early, label %late
early:
  ret void
late:
  tail call void @reads(ptr %out)
  call void @work()
  ret void
}

; CHECK: define void @passed_on(
; CHECK: call void @llvm.memcpy{{.*}}ptr align 8 %out, ptr {{.*}}, i64 24
; CHECK: musttail call void @returned(ptr noalias sret(%three) align 8 %out, i1 %c)
; CHECK: ret void
define void @passed_on(ptr noalias sret(%three) align 8 %out, i1 %c) gc "refcount" {
  call void @llvm.gcroot(ptr %out, ptr @three)
  call void @work()
  musttail call void @returned(ptr noalias sret(%three) align 8 %out, i1 %c)
  ret void
}

; CHECK: define i64 @passed_on_by_value(ptr byval(%three) align 32 %p)
; CHECK: call void @llvm.memcpy{{.*}}ptr align 32 %p, i64 24
; CHECK: store i64 5
; CHECK: call void @llvm.memcpy{{.*}}ptr align 32 %p, ptr {{.*}}, i64 24
; CHECK: musttail call i64 @taken(ptr byval(%three) align 32 %p)
define i64 @passed_on_by_value(ptr byval(%three) align 32 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  call void @work()
  %at = getelementptr %three, ptr %p, i64 0, i32 2
  store i64 5, ptr %at
  %v = musttail call i64 @taken(ptr byval(%three) align 32 %p)
  ret i64 %v
}

; What only read the memory before writes it now.
; CHECK: define i64 @only_read(ptr byval(%three) align 32 %p)
; CHECK: call void @llvm.memcpy{{.*}}ptr align 32 %p, ptr {{.*}}, i64 24
; CHECK: musttail call i64 @taken(
define i64 @only_read(ptr readonly byval(%three) align 32 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  call void @work()
  %v = musttail call i64 @taken(ptr byval(%three) align 32 %p)
  ret i64 %v
}

; CHECK: define void @unwound(
; CHECK: memcpy
; CHECK: ret void
; CHECK: landingpad
; CHECK-NOT: memcpy
; CHECK: resume
define void @unwound(ptr noalias sret(%three) align 8 %out) gc "refcount" personality ptr @__gcc_personality_v0 {
  call void @llvm.gcroot(ptr %out, ptr @three)
  invoke void @work() to label %on unwind label %off
on:
  ret void
off:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}

; One word is a plain root.
; CHECK: define void @word(ptr byval(ptr) align 8 %p)
; CHECK: alloca ptr
; CHECK: "deopt"
define void @word(ptr byval(ptr) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr null)
  call void @work()
  %v = load ptr, ptr %p
  call void @reads(ptr %v)
  ret void
}
