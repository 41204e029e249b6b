; REFUSED: in @f: LLVM generates no code for landingpad of type i32; give all landing pads and resumes of the module the type { ptr, i32 }
declare void @llvm.gcroot(ptr, ptr)
declare i32 @__gxx_personality_v0(...)
declare void @thrower(ptr)
define void @f(ptr %a) gc "refcount" personality ptr @__gxx_personality_v0 {
  %slot = alloca ptr
  call void @llvm.gcroot(ptr %slot, ptr null)
  store ptr %a, ptr %slot
  invoke void @thrower(ptr %a) to label %ok unwind label %bad
ok:
  call void @thrower(ptr %a)
  ret void
bad:
  %l = landingpad i32 cleanup
  call void @thrower(ptr %a)
  resume i32 %l
}
define i32 @main() gc "refcount" { ret i32 0 }
