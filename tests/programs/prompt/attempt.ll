; An exception takes a ring from the root that holds it last, and is stopped.
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare i32 @__gcc_personality_v0(...)
declare void @work(i32)
declare void @throw()

define void @is_thrown_through(ptr %table) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %ring = load ptr, ptr %table
  store ptr %ring, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %table, ptr %table)
  call void @work(i32 40000)
  call void @throw()
  unreachable
}

define void @attempt(ptr %table) gc "refcount" personality ptr @__gcc_personality_v0 {
  invoke void @is_thrown_through(ptr %table) to label %done unwind label %landing
done:
  ret void
landing:
  %pad = landingpad { ptr, i32 } cleanup
  ret void
}
