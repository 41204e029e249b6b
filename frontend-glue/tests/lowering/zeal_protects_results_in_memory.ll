; Zeal: a struct that comes back through memory holds references in flight, like one that comes back in registers.
; OPTIONS: zeal
; CHECK: define ptr @first()
; CHECK: call void @both(ptr sret(%both) %result) [ "deopt"() ]
; CHECK: call void @tally_zeal_safepoint(ptr %result, i64 24, ptr @.tally.site{{.*}}) [ "deopt"() ]
; CHECK: %object = load ptr, ptr %result
%both = type { ptr, ptr, i64 }
declare void @both(ptr sret(%both))
declare ptr @tally_new(ptr)
define ptr @first() gc "refcount" {
  %result = alloca %both
  call void @both(ptr sret(%both) %result)
  %object = load ptr, ptr %result
  ret ptr %object
}
