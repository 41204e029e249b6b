; REFUSED: in @main: @tally_try_new allocates on Tally's heap, but Tally cannot read roots of gc "erlang" in @main; give its functions gc "refcount", or map the name: --gc-name erlang=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_try_new(ptr)
define i32 @main() gc "erlang" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_try_new(ptr null)
  store ptr %object, ptr %root
  ret i32 0
}
