; A root is named only where it may hold something and its content may still matter: dead locals keep no garbage alive.
; CHECK: call void @poke(i32 0) [ "deopt"() ]
; CHECK: call void @poke(i32 1) [ "deopt"(i64 {{-?[0-9]+}}, ptr %a) ]
; CHECK: call void @poke(i32 2) [ "deopt"() ]
; CHECK: call void @poke(i32 3) [ "deopt"(i64 {{-?[0-9]+}}, ptr %b) ]
; CHECK: call void @poke(i32 4) [ "deopt"() ]
declare void @llvm.gcroot(ptr, ptr)
declare void @poke(i32)
declare ptr @make()

define void @f(ptr %p) gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  call void @poke(i32 0)
  %o = call ptr @make()
  store ptr %o, ptr %a
  call void @poke(i32 1)
  %x = load ptr, ptr %a
  %y = load i64, ptr %x
  call void @poke(i32 2)
  %n = call ptr @make()
  store ptr %n, ptr %b
  call void @poke(i32 3)
  %z = load ptr, ptr %b
  %w = load i64, ptr %z
  store ptr null, ptr %b
  call void @poke(i32 4)
  ret void
}
