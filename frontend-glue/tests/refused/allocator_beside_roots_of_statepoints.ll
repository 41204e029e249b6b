; REFUSED: in @main: @tally_try_new allocates on Tally's heap, but Tally cannot read roots of gc "statepoint-example" in @main; put statepoints in by opt -passes=rewrite-statepoints-for-gc, or give its functions gc "refcount": --gc-name statepoint-example=refcount
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_try_new(ptr)
define i32 @main() gc "statepoint-example" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_try_new(ptr null)
  store ptr %object, ptr %root
  ret i32 0
}
