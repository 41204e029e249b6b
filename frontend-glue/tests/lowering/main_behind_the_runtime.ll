; The program's main goes behind the runtime's. Its constructors come after the registration.
; CHECK: c"main\00"
; CHECK: @llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @tally.register, ptr null }, { i32, ptr, ptr } { i32 65535, ptr @mine, ptr null }]
; CHECK: @llvm.used = appending global [2 x ptr] [ptr @mine, ptr @tally.stack_map_label], section "llvm.metadata"
; CHECK: define internal void @tally.main() #
; CHECK: define internal i32 @tally.main.adapter(i32 %0, ptr %1, ptr %2) #
; CHECK: call void @tally.main() [ "deopt"() ]
; CHECK: ret i32 0
; CHECK: define i32 @main(i32 %0, ptr %1)
; CHECK: call i32 @tally_run_main(ptr @tally.main.adapter, i32 %0, ptr %1)
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @mine, ptr null }]
@llvm.used = appending global [1 x ptr] [ptr @mine], section "llvm.metadata"
define internal void @mine() {
  ret void
}
declare void @llvm.gcroot(ptr, ptr)
define void @main() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  ret void
}
