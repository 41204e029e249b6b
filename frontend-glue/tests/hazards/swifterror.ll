; Hazard: LLVM drops what a call with a bundle returns through swifterror: the caller reads its old value.
; REFUSED: in @main: LLVM loses what a safepoint call returns through swifterror
declare void @churn()

define swiftcc void @fail(ptr swifterror %error) noinline gc "refcount" {
  call void @churn()
  store ptr @fail, ptr %error
  ret void
}

define i32 @main() gc "refcount" {
  %error = alloca swifterror ptr
  store ptr null, ptr %error
  call swiftcc void @fail(ptr swifterror %error)
  %thrown = load ptr, ptr %error
  %lost = icmp eq ptr %thrown, null
  %status = zext i1 %lost to i32
  ret i32 %status
}
