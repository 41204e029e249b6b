; REFUSED: in @main: llvm.experimental.gc.result.p0 belongs to a statepoint, and there is none; use the result of the call; the lowering makes the stack maps
declare ptr @llvm.experimental.gc.result.p0(token)
define i32 @main() gc "refcount" { ret i32 0 
dead:
  %r = call ptr @llvm.experimental.gc.result.p0(token poison)
  ret i32 1 }
