; ERROR-DAG: in @tally_new_array: @tally_new_array is declared as ptr (ptr, i32); declare it as ptr (ptr, i64)
; ERROR-DAG: in @f: @tally_new is called as ptr (ptr, i32); declare it as ptr (ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i32)
define void @f(ptr %t) gc "refcount" {
  %x = call ptr (ptr, i32) @tally_new(ptr %t, i32 1)
  ret void
}
