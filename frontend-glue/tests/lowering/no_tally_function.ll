; Nothing here is Tally's: not a byte changes.
; UNTOUCHED
declare void @poke()
declare ptr @tally_new(ptr)
define i32 @main() {
  call void @poke()
  ret i32 0
}
