; REFUSED: in @main: @clear has roots, and is called in the middle of a collection; let it store to the slot that it is given, and root nothing
@pair = external constant i8
!tally.types = !{!0}
!0 = !{ptr @pair, !"size", i64 16, !"refs", !{i32 0}}
declare void @tally_type_on_clear(ptr, ptr)
declare void @llvm.gcroot(ptr, ptr)
define void @clear(ptr %holder, ptr %slot) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %holder, ptr %root
  store i64 1, ptr %slot
  ret void
}
define i32 @main() gc "refcount" {
  call void @tally_type_on_clear(ptr @pair, ptr @clear)
  ret i32 0
}
