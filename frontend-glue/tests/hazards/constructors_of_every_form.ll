; Hazard: a module's own lists of constructors, destructors and used globals, in every form that LLVM's verifier lets through,
; to which the module's registration is added.
; WITH: modules/undefined_constructors.ll modules/no_constructors.ll
%structor = type <{ i32, ptr, ptr addrspace(1) }>
@elsewhere = addrspace(1) global i32 0
@ran = global i32 0
@llvm.global_ctors = appending global [6 x %structor] [
  %structor <{ i32 101, ptr @construct, ptr addrspace(1) null }>,
  %structor zeroinitializer,
  %structor undef,
  %structor <{ i32 ptrtoint (ptr @ran to i32), ptr @construct, ptr addrspace(1) null }>,
  %structor <{ i32 102, ptr null, ptr addrspace(1) null }>,
  %structor <{ i32 103, ptr @construct, ptr addrspace(1) @elsewhere }>]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] zeroinitializer
@llvm.used = appending global [1 x ptr addrspace(1)] [ptr addrspace(1) @elsewhere], section "llvm.metadata"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare ptr @box_of_the_second_module()
declare i32 @number_of_the_third_module()

define void @construct() {
  %count = load i32, ptr @ran
  %more = add i32 %count, 1
  store i32 %more, ptr @ran
  ret void
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box_of_the_second_module()
  store ptr %box, ptr %root
  call void @expect(ptr %box, i64 7)
  %number = call i32 @number_of_the_third_module()
  %ran = load i32, ptr @ran
  %sum = add i32 %ran, %number
  %wrong = icmp ne i32 %sum, 2
  %status = zext i1 %wrong to i32
  ret i32 %status
}
