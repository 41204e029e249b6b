; An allocation may run an epoch: attributes that would let LLVM drop or move it are stripped from declaration and call.
; CHECK: declare ptr @tally_new(ptr)
; CHECK: call ptr @tally_new(ptr %type) [ "deopt"() ]
; CHECK-NOT: allockind
; CHECK-NOT: memory(read)
; OPTIMISED-DAG: call ptr @tally_new(ptr %type) [ "deopt"() ]
declare noalias ptr @tally_new(ptr noalias) nofree memory(read) allockind("alloc,zeroed") allocsize(0) "alloc-family"="tally"
define void @f(ptr %type) gc "refcount" {
  %unused = call noalias ptr @tally_new(ptr noalias %type) nosync memory(read)
  ret void
}
