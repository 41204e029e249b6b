; REFUSED: in @main: tally_new without a type descriptor; pass the address of one
; REFUSED: in @array: tally_new_array without a type descriptor
; REFUSED: in @of_a_function: tally_new of the function @main; pass the address of a type descriptor
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
define i32 @main() gc "refcount" {
  %o = call ptr @tally_new(ptr null)
  ret i32 0
}
define void @array() gc "refcount" {
  %o = call ptr @tally_new_array(ptr undef, i64 4)
  ret void
}
define void @of_a_function() gc "refcount" {
  %o = call ptr @tally_new(ptr @main)
  ret void
}
