; Operands of the frontend's own stand behind the roots, each behind the number -1.
; CHECK: define void @f
; CHECK: call void @g() [ "deopt"(i64 {{[0-9]+}}, ptr %r, i64 -1, i32 1, i64 -1, ptr %p) ]
; CHECK: call void @leaf() {{.*}}[ "deopt"(i64 -1, i64 2) ]
; CHECK: define void @plain
; CHECK: call void @g() [ "deopt"(i64 -1, i64 3) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @g()
declare void @leaf() "gc-leaf-function"
define void @f(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @g() [ "deopt"(i32 1, ptr %p) ]
  call void @leaf() [ "deopt"(i64 2) ]
  %o = load ptr, ptr %r
  store volatile i64 1, ptr %o
  ret void
}
define void @plain() {
  call void @g() [ "deopt"(i64 3) ]
  ret void
}
