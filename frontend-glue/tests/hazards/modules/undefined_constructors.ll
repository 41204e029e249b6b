; Lists without a single function.
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] undef
@llvm.global_dtors = appending global [4294967296 x { i32, ptr, ptr }] zeroinitializer
declare ptr @box(i64)
define ptr @box_of_the_second_module() gc "refcount" {
  %box = call ptr @box(i64 7)
  ret ptr %box
}
