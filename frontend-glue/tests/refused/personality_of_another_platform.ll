; REFUSED: in @main: the personality @__C_specific_handler belongs to exceptions of another platform; use landing pads for exceptions, and a personality of this platform
declare i32 @__C_specific_handler(...)
define i32 @main() gc "refcount" personality ptr @__C_specific_handler {
  ret i32 0
}
