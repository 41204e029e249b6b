; REFUSED: in @plain: attribute "instrument-function-entry-inlined": LLVM adds a call of @__fentry__ that carries no roots; write the call into the function, or compile without -finstrument-functions and -pg
define void @plain(ptr %function) "instrument-function-entry-inlined"="__fentry__" {
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
