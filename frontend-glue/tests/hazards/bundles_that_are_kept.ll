; Hazard: other bundles beside Tally's own: tokens of convergence and facts about a call's result at safepoints, checks at leaves.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.assume(i1)
declare token @llvm.experimental.convergence.entry() convergent

define i64 @leaf(i64 %x) "gc-leaf-function" noinline {
  ret i64 %x
}
@pointer = global ptr @leaf

define void @converge() convergent noinline gc "refcount" {
  %token = call token @llvm.experimental.convergence.entry()
  call void @churn() convergent [ "convergencectrl"(token %token) ]
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  call void @llvm.assume(i1 true) [ "align"(ptr %box, i64 8), "nonnull"(ptr %box) ]
  store ptr %box, ptr %root
  call void @converge()
  %f = load ptr, ptr @pointer
  %x = call i64 @leaf(i64 2) "gc-leaf-function" [ "deactivation-symbol"(ptr @pointer) ]
  %y = call i64 @leaf(i64 %x) "gc-leaf-function" [ "cfguardtarget"(ptr @leaf) ]
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %is = icmp ne i64 %y, 2
  %status = zext i1 %is to i32
  ret i32 %status
}
