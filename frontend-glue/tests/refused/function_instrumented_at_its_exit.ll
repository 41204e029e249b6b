; REFUSED: in @plain: attribute "instrument-function-exit": LLVM adds a call of @__cyg_profile_func_exit that carries no roots; write the call into the function, or compile without -finstrument-functions and -pg
define void @plain(ptr %function) "instrument-function-exit"="__cyg_profile_func_exit" {
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
