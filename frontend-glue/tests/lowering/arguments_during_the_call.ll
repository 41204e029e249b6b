; A managed callee roots its parameters (rule 3), any other may rely on the caller's root for as long as it runs.
; CHECK: define void @caller
; CHECK: call void @managed(ptr %x) [ "deopt"() ]
; CHECK: call void @native(ptr %y) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @managed(ptr %field) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
declare void @llvm.gcroot(ptr, ptr)
declare void @native(ptr)
define void @managed(ptr %p) gc "refcount" {
  ret void
}
define void @caller(ptr %p) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  %x = load ptr, ptr %r
  call void @managed(ptr %x)
  store ptr null, ptr %r
  %n = call ptr @make()
  store ptr %n, ptr %r
  %y = load ptr, ptr %r
  call void @native(ptr %y)
  store ptr null, ptr %r
  %m = call ptr @make()
  store ptr %m, ptr %r
  %field = getelementptr i8, ptr %m, i64 8
  call void @managed(ptr %field)
  ret void
}
declare ptr @make()
