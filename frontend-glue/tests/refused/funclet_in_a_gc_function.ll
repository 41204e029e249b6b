; REFUSED: in @f: catchswitch: a funclet has no frame that a walk could read; use landing pads for exceptions, and a personality of this platform
declare void @llvm.gcroot(ptr, ptr)
declare i32 @__CxxFrameHandler3(...)
declare void @thrower(ptr)
define void @f(ptr %a) gc "refcount" personality ptr @__CxxFrameHandler3 {
  %slot = alloca ptr
  call void @llvm.gcroot(ptr %slot, ptr null)
  store ptr %a, ptr %slot
  invoke void @thrower(ptr %a) to label %ok unwind label %bad
ok:
  ret void
bad:
  %cs = catchswitch within none [label %h] unwind to caller
h:
  %c = catchpad within %cs [ptr null, i32 64, ptr null]
  catchret from %c to label %ok
}
define i32 @main() gc "refcount" { ret i32 0 }
