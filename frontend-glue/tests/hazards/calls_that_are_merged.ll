; Hazard: two branches that end in the same call under different roots: LLVM joins calls whose bundles are equal, and may not join these.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@choice = global i1 false

define void @branches(i1 %which) noinline gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  br i1 %which, label %left, label %right
left:
  %x = call ptr @box(i64 1)
  store ptr %x, ptr %a
  call void @churn()
  %x.kept = load ptr, ptr %a
  call void @expect(ptr %x.kept, i64 1)
  br label %join
right:
  %y = call ptr @box(i64 2)
  store ptr %y, ptr %b
  call void @churn()
  %y.kept = load ptr, ptr %b
  call void @expect(ptr %y.kept, i64 2)
  br label %join
join:
  %slot = select i1 %which, ptr %a, ptr %b
  call void @churn()
  %kept = load ptr, ptr %slot
  %value = select i1 %which, i64 1, i64 2
  call void @expect(ptr %kept, i64 %value)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @branches(i1 false)
  call void @branches(i1 true)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
