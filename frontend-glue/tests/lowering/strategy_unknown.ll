; scenario 167
; ERROR-DAG: in @f: unknown gc strategy "jblab-gc"; known here are "refcount", "refcount-prompt", "trace", and LLVM's own (shadow-stack, ocaml, erlang, statepoint-example, coreclr); map it with --gc-name jblab-gc=refcount
define void @f() gc "jblab-gc" {
  ret void
}
