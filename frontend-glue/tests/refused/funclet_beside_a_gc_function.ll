; REFUSED: in @f: cleanuppad: a funclet has no frame that a walk could read; use landing pads for exceptions, and a personality of this platform
declare i32 @__CxxFrameHandler3(...)
declare void @thrower(ptr)
define void @f(ptr %a) personality ptr @__CxxFrameHandler3 {
  invoke void @thrower(ptr %a) to label %ok unwind label %bad
ok:
  ret void
bad:
  %c = cleanuppad within none []
  cleanupret from %c unwind to caller
}
define i32 @main() gc "refcount" { ret i32 0 }
