; scenario 170
; Passes take an argument away that is never read, and change the convention: of what is left, the safepoint names its root, and the
; call of it the caller's.
; OPTIMISED-DAG: define internal fastcc i64 @callee(ptr %o, ptr {{.*}} %place)
; OPTIMISED-DAG: call void @poke() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; OPTIMISED-DAG: call fastcc i64 @callee(ptr %o, ptr {{.*}}) [ "deopt"(i64 {{-?[0-9]+}}, ptr %held) ]
; OPTIMISED_GONE-NOT: i64 17
declare void @llvm.gcroot(ptr, ptr)
declare void @poke()
define internal i64 @callee(ptr %o, i64 %unused, ptr %place) noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %n = load i64, ptr %place
  call void @poke()
  %kept = load ptr, ptr %r
  %x = load i64, ptr %kept
  %sum = add i64 %x, %n
  ret i64 %sum
}
define i64 @f(ptr %o, i64 %n) gc "refcount" {
  %held = alloca ptr
  call void @llvm.gcroot(ptr %held, ptr null)
  store ptr %o, ptr %held
  %place = alloca i64
  store i64 %n, ptr %place
  %x = call i64 @callee(ptr %o, i64 17, ptr %place)
  %again = load ptr, ptr %held
  %y = load i64, ptr %again
  %sum = add i64 %x, %y
  ret i64 %sum
}
