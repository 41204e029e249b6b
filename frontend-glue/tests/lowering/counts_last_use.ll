; scenario 130
; Pattern "last use": a root that is overwritten or left before the next safepoint gives its count along with what is written.
; If a safepoint may come first the root must keep it.
; OPTIONS: operations
; CHECK: define void @before_the_return
; CHECK: call void @tally.count.give(ptr {{.*}}, i32 0)
; CHECK-NOT: tally.count.increment
; CHECK: define void @before_it_is_overwritten
; CHECK: call void @tally.count.give(ptr {{.*}}, i32 0)
; CHECK-NOT: tally.count.increment
; CHECK: define void @before_a_safepoint
; CHECK: call void @tally.count.increment
; CHECK-NOT: tally.count.give
; CHECK: define void @on_one_way_only
; CHECK: call void @tally.count.increment
; CHECK-NOT: tally.count.give
; CHECK: define void @tail_of_file
; REMARK-DAG: in @before_the_return: remark: no count: this is the last use of root `r`, whose count moves along
; REMARK-DAG: in @before_the_return: remark: no count: root `r` borrowed
; REMARK-DAG: in @before_it_is_overwritten: remark: no count: this is the last use of root `r`, whose count moves along
; REMARK-DAG: in @before_it_is_overwritten: remark: no count: root `r` borrowed
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@global = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @poke() nounwind

define void @before_the_return(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr @global, ptr @global)
  ret void
}
define void @before_it_is_overwritten(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr @global, ptr @global)
  store ptr null, ptr %r
  call void @poke()
  ret void
}
define void @before_a_safepoint(ptr %p) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr @global, ptr @global)
  call void @poke()
  ret void
}
define void @on_one_way_only(ptr %p, i1 %which) nounwind gc "refcount-prompt" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %p, ptr %r
  call void @poke()
  %o = load ptr, ptr %r
  call void @llvm.gcwrite(ptr %o, ptr @global, ptr @global)
  br i1 %which, label %safepoint, label %end
safepoint:
  call void @poke()
  br label %end
end:
  ret void
}

define void @tail_of_file() nounwind gc "refcount-prompt" {
  ret void
}
