; A main that takes what C offers is called as it is; a name of `main` inside the program follows it.
; CHECK: define internal i32 @tally.main(i32 %n, ptr %v, ptr %e) #
; CHECK: call i32 @tally.main(i32 0, ptr null, ptr null) [ "deopt"() ]
; CHECK: call i32 @tally_run_main(ptr @tally.main, i32 %0, ptr %1)
; CHECK-NOT: adapter
define i32 @main(i32 %n, ptr %v, ptr %e) gc "refcount" {
  %x = call i32 @main(i32 0, ptr null, ptr null)
  ret i32 %x
}
