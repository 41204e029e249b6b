target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
; Landing pads, funclets, resumes, personalities, and what leaves a function early.
declare i32 @__gxx_personality_v0(...)
declare i32 @__CxxFrameHandler3(...)
declare void @g()
@type = external constant ptr
define void @landing() personality ptr @__gxx_personality_v0 {
  invoke void @g() to label %done unwind label %pad
done:
  ret void
pad:
  %p = landingpad { ptr, i32 } cleanup catch ptr @type filter [1 x ptr] [ptr @type]
  resume { ptr, i32 } %p
}
define void @funclets() personality ptr @__CxxFrameHandler3 {
  invoke void @g() to label %done unwind label %dispatch
dispatch:
  %s = catchswitch within none [label %handler] unwind label %cleanup
handler:
  %c = catchpad within %s [ptr null, i32 64, ptr null]
  call void @g() [ "funclet"(token %c) ]
  catchret from %c to label %done
cleanup:
  %k = cleanuppad within none []
  cleanupret from %k unwind to caller
done:
  ret void
}
