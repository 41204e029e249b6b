; Hazard: a volatile store to a root. It is a plain one: what was stored last is in the slot at each safepoint.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define ptr @written(i64 %value) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %first = call ptr @box(i64 %value)
  store volatile ptr %first, ptr %root
  call void @churn()
  call void @expect(ptr %first, i64 %value)
  %more = add i64 %value, 1
  %second = call ptr @box(i64 %more)
  store volatile ptr %second, ptr %root
  call void @churn()
  %kept = load volatile ptr, ptr %root
  ret ptr %kept
}

; A variable of typed references, as clang makes it of a volatile one in C.
define ptr addrspace(1) @inferred(ptr addrspace(1) %other) noinline gc "refcount" {
  %variable = alloca ptr addrspace(1)
  store volatile ptr addrspace(1) null, ptr %variable
  %box = call ptr @box(i64 30)
  %typed = addrspacecast ptr %box to ptr addrspace(1)
  store volatile ptr addrspace(1) %typed, ptr %variable
  call void @churn()
  %kept = load volatile ptr addrspace(1), ptr %variable
  ret ptr addrspace(1) %kept
}

define i32 @main() gc "refcount" {
  %kept = call ptr @written(i64 7)
  call void @expect(ptr %kept, i64 8)
  %typed = call ptr addrspace(1) @inferred(ptr addrspace(1) null)
  %plain = addrspacecast ptr addrspace(1) %typed to ptr
  call void @expect(ptr %plain, i64 30)
  ret i32 0
}
