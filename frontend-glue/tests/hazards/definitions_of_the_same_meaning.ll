; Hazard: a function that several modules define (available_externally, linkonce_odr) means the same everywhere, but the body that
; runs may be another than the one that is seen here: it collects where this one has nothing left to call, and what is known of
; the stores through a parameter was noted in this one alone.
; WITH: modules/lets_go.ll
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
@held = global ptr null

define available_externally void @nothing_to_see() noinline gc "refcount" {
  ret void
}

define available_externally void @fill(ptr %slot) noinline gc "refcount" {
  %box = call ptr @box(i64 5)
  store ptr %box, ptr %slot
  ret void
}

define void @look() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = load ptr, ptr @held
  store ptr %box, ptr %root
  call void @llvm.gcwrite(ptr null, ptr @held, ptr @held)
  call void @nothing_to_see()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret void
}

define void @have_filled() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @fill(ptr %root)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 5)
  ret void
}

define i32 @main() gc "refcount" {
  %box = call ptr @box(i64 7)
  call void @llvm.gcwrite(ptr %box, ptr @held, ptr @held)
  call void @look()
  call void @have_filled()
  ret i32 0
}
