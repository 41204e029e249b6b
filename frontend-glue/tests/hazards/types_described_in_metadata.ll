; Hazard: descriptors by the names of their fields, in metadata: what is written there is what the collector reads, or objects are
; lost and finalizers not called.
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
declare void @tally_collect()
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@Pair = external constant i8
@Row = external constant i8
@Three = external constant i8
@Told = external constant i8
@told = global i32 0
!tally.types = !{!0, !1, !2, !3}
!0 = !{ptr @Pair, !"size", i64 24, !"align", i32 16, !"refs", !{i32 0, i32 8}, !"ref_types", !{ptr @Pair, null}}
!1 = !{ptr @Row, !"name", !"a row", !"size", i64 16, !"length", i64 8, !"stride", i64 16, !"element_refs", !{i32 8},
       !"linkage", !"internal"}
!2 = !{ptr @Three, !"size", i64 24, !"refs", !{i32 0, i32 8, i32 16}, !"slots", !"tagged", !"tag_mask", i64 1,
       !"tag_pattern", i64 0, !"pointer_mask", i64 -8}
!3 = !{ptr @Told, !"size", i64 8, !"finalize", ptr @tell, !"flags", !{!"acyclic", !"finalize-reverse"}}

define void @tell(ptr %object) {
  %told = load i32, ptr @told
  %more = add i32 %told, 1
  store i32 %more, ptr @told
  ret void
}
define void @short_lived() noinline gc "refcount" {
  %object = call ptr @tally_new(ptr @Told)
  ret void
}
define i32 @main() gc "refcount" {
  %pair = alloca ptr
  %row = alloca ptr
  %three = alloca [3 x i64]
  call void @llvm.gcroot(ptr %pair, ptr null)
  call void @llvm.gcroot(ptr %row, ptr null)
  call void @llvm.gcroot(ptr %three, ptr @Three)
  call void @llvm.memset.p0.i64(ptr %three, i8 0, i64 24, i1 false)
  %new = call ptr @tally_new(ptr @Pair)
  store ptr %new, ptr %pair
  %box = call ptr @box(i64 7)
  %into = load ptr, ptr %pair
  %second = getelementptr i8, ptr %into, i64 8
  call void @llvm.gcwrite(ptr %box, ptr %into, ptr %second)
  %new.row = call ptr @tally_new_array(ptr @Row, i64 5)
  store ptr %new.row, ptr %row
  %box.in.row = call ptr @box(i64 8)
  %the.row = load ptr, ptr %row
  %last = getelementptr i8, ptr %the.row, i64 88
  call void @llvm.gcwrite(ptr %box.in.row, ptr %the.row, ptr %last)
  %box.of.three = call ptr @box(i64 9)
  %word = ptrtoint ptr %box.of.three to i64
  %at = getelementptr i64, ptr %three, i64 2
  store i64 %word, ptr %at
  store i64 41, ptr %three
  call void @short_lived()
  call void @tally_collect()
  call void @churn()
  %pair.after = load ptr, ptr %pair
  %second.after = getelementptr i8, ptr %pair.after, i64 8
  %box.after = load ptr, ptr %second.after
  call void @expect(ptr %box.after, i64 7)
  %row.after = load ptr, ptr %row
  %last.after = getelementptr i8, ptr %row.after, i64 88
  %in.row.after = load ptr, ptr %last.after
  call void @expect(ptr %in.row.after, i64 8)
  %word.after = load i64, ptr %at
  %of.three.after = inttoptr i64 %word.after to ptr
  call void @expect(ptr %of.three.after, i64 9)
  call void @tally_collect()
  %told = load i32, ptr @told
  %wrong = icmp ne i32 %told, 1
  %status = zext i1 %wrong to i32
  ret i32 %status
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
