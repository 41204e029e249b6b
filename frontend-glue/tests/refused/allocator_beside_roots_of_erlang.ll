; REFUSED: in @main: @tally_try_new makes objects of Tally's heap, and Tally does not find what roots of gc "erlang" in @main hold; give its functions gc "refcount", or map the name: --gc-name erlang=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_try_new(ptr)
define i32 @main() gc "erlang" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_try_new(ptr null)
  store ptr %object, ptr %root
  ret i32 0
}
