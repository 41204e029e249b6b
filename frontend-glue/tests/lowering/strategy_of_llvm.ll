; LLVM's own strategies are LLVM's business.
; UNTOUCHED
declare void @llvm.gcroot(ptr, ptr)
define void @f() gc "shadow-stack" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}
