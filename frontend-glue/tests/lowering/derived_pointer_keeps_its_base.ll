; scenario 182
; Rule 4: a derived pointer is free as long as its base is rooted. The slot is never read again, what was read from it is.
; CHECK: define i64 @field_after_safepoint
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @through_a_variable
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @through_a_struct_filled_by_a_callee
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @through_a_helper
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i64 @in_a_loop_without_end
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @kept_in_foreign_memory
; CHECK: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
declare ptr @inside(ptr)
declare void @start(ptr, ptr)
@foreign = global ptr null

define i64 @field_after_safepoint(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %field = getelementptr i8, ptr %p, i64 8
  call void @poke()
  %x = load i64, ptr %field
  ret i64 %x
}
define i64 @through_a_variable(ptr %p) gc "refcount" {
  %r = alloca ptr
  %cursor = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %base = load ptr, ptr %r
  %field = getelementptr i8, ptr %base, i64 8
  store ptr %field, ptr %cursor
  call void @poke()
  %here = load ptr, ptr %cursor
  %x = load i64, ptr %here
  ret i64 %x
}
define i64 @through_a_struct_filled_by_a_callee(ptr %p) gc "refcount" {
  %r = alloca ptr
  %iterator = alloca { ptr, i64 }
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @start(ptr %iterator, ptr %p)
  call void @poke()
  %here = load ptr, ptr %iterator
  %x = load i64, ptr %here
  ret i64 %x
}
define i64 @through_a_helper(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %bytes = call ptr @inside(ptr %p)
  call void @poke()
  %x = load i64, ptr %bytes
  ret i64 %x
}
define i64 @in_a_loop_without_end(ptr %p) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  br label %loop
loop:
  %x = load volatile i64, ptr %p
  call void @poke()
  br label %loop
}
define void @kept_in_foreign_memory(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  store ptr %p, ptr @foreign
  call void @poke()
  ret void
}
