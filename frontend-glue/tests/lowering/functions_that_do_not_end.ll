; scenarios 172, 173
; Functions with a strategy that are declared only, that have nothing in them, that go on for ever, and that end where nothing
; returns: their roots are named as long as they may be read, and nothing pops them.
; CHECK: declare ptr @elsewhere(ptr) gc "refcount"
; CHECK: define void @nothing()
; CHECK: ret void
; CHECK: define void @for_ever(ptr %o)
; CHECK: call void @look(ptr %kept) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define ptr @not_here(ptr %o)
; CHECK: call ptr @elsewhere(ptr %o) [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: call void @give_up()
; CHECK: unreachable
declare void @llvm.gcroot(ptr, ptr)
declare ptr @elsewhere(ptr) gc "refcount"
declare void @look(ptr)
declare void @give_up() noreturn
define void @nothing() gc "refcount" {
  ret void
}
define void @for_ever(ptr %o) noreturn gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  br label %again
again:
  %kept = load ptr, ptr %r
  call void @look(ptr %kept)
  br label %again
}
define ptr @not_here(ptr %o) gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %other = call ptr @elsewhere(ptr %o)
  %same = icmp eq ptr %other, null
  br i1 %same, label %end, label %back
back:
  %kept = load ptr, ptr %r
  ret ptr %kept
end:
  call void @give_up()
  unreachable
}
