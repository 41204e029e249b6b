; REFUSED: in @main: tally_gcwrite_i64 at offset 8 of an object of @Cell, which is a plain reference beside others with tags; write it with llvm.gcwrite
@Cell = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Cell, !"size", i64 16, !"refs", !{i32 0, i32 8}, !"plain_refs", !{i32 8}, !"slots", !"tagged", !"tag_mask", i64 1, !"pointer_mask", i64 -2}
declare ptr @tally_new(ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
define i32 @main() gc "refcount" {
  %cell = call ptr @tally_new(ptr @Cell)
  %word = ptrtoint ptr %cell to i64
  %next = getelementptr i8, ptr %cell, i64 8
  call void @tally_gcwrite_i64(i64 %word, ptr %cell, ptr %next)
  ret i32 0
}
