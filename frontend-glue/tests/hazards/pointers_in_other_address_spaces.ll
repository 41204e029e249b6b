; Hazard: a root that is a pointer of another address space, as wide as any.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @f(i64 %v) noinline gc "refcount" {
  %r = alloca ptr addrspace(1)
  call void @llvm.gcroot(ptr %r, ptr null)
  %box = call ptr @box(i64 %v)
  %as1 = addrspacecast ptr %box to ptr addrspace(1)
  store ptr addrspace(1) %as1, ptr %r
  call void @churn()
  %k = load ptr addrspace(1), ptr %r
  %k0 = addrspacecast ptr addrspace(1) %k to ptr
  call void @expect(ptr %k0, i64 %v)
  ret void
}
define i32 @main() gc "refcount" {
  call void @f(i64 3)
  ret i32 0
}
