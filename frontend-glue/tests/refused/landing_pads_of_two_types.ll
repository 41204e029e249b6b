; REFUSED: in @g: resume of type { i64, i32 }, and of { ptr, i32 } in @f; give all landing pads and resumes of the module the type { ptr, i32 }
declare i32 @__gcc_personality_v0(...)
declare void @throw()
define void @f() personality ptr @__gcc_personality_v0 {
  invoke void @throw() to label %ok unwind label %bad
ok:
  ret void
bad:
  %landed = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %landed
}
define void @g() personality ptr @__gcc_personality_v0 {
  resume { i64, i32 } zeroinitializer
}
define i32 @main() gc "refcount" personality ptr @__gcc_personality_v0 {
  ret i32 0
}
