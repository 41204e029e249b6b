; scenario 167
; REFUSED: in @main: unknown gc strategy "mark-sweep"; known here are "refcount", "refcount-prompt", "trace", and LLVM's own (shadow-stack, ocaml, erlang, statepoint-example, coreclr); map it with --gc-name mark-sweep=refcount
define i32 @main() gc "mark-sweep" {
  ret i32 0
}
