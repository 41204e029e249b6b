; REFUSED: in @main: @tally_try_new makes objects of Tally's heap, and Tally does not find what roots of gc "statepoint-example" in @main hold; give its functions gc "refcount", or map the name: --gc-name statepoint-example=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_try_new(ptr)
define i32 @main() gc "statepoint-example" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_try_new(ptr null)
  store ptr %object, ptr %root
  ret i32 0
}
