; A module without gc functions: nothing is lowered here, and the lists come to LLVM's passes as they are.
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] poison
@llvm.global_dtors = external global [1 x { i32, ptr, ptr }]
define i32 @number_of_the_third_module() {
  ret i32 0
}
