; Hazard: a declaration that promises what an entry point of the runtime does not keep; LLVM then drops the call.
; WITHOUT promises-stripped at 2: status 1
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @tally_copy_refs(ptr, ptr, ptr, i64) nounwind willreturn memory(none)

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %from = alloca ptr
  store ptr %box, ptr %from
  %other = call ptr @box(i64 8)
  %second = alloca ptr
  call void @llvm.gcroot(ptr %second, ptr null)
  store ptr %other, ptr %second
  call void @tally_copy_refs(ptr %other, ptr %other, ptr %from, i64 1)
  %next = load ptr, ptr %other
  %same = icmp eq ptr %next, %box
  br i1 %same, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
