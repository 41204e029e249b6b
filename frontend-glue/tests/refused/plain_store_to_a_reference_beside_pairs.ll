; REFUSED: in @main: a reference is stored plainly to an object, at offset 16 of @UpVal, which is a reference; write references into objects with llvm.gcwrite
@UpVal = external constant i8
!tally.types = !{!0}
!0 = !{ptr @UpVal, !"size", i64 24, !"slots", !"tag-behind", !"tag_mask", i64 64, !"tag_pattern", i64 64, !"pointer_mask", i64 -1,
       !"refs", !{i32 0, i32 16}, !"plain_refs", !{i32 16}}
declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @UpVal)
  store ptr %object, ptr %root
  %other = call ptr @tally_new(ptr @UpVal)
  %again = load ptr, ptr %root
  %slot = getelementptr i8, ptr %again, i64 16
  store ptr %other, ptr %slot
  call void @tally_collect()
  ret i32 0
}
