; Hazard: in code that is never reached a value may be computed from itself, in one step or in more; LLVM's verifier accepts
; that. An analysis that follows an address to where it comes from must come to an end there.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)

define void @one_step(ptr %value) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %value, ptr %root
  call void @churn()
  ret void
nowhere:
  %next = getelementptr i32, ptr %next, i64 1
  %frozen = freeze ptr %frozen
  %chosen = select i1 true, ptr %chosen, ptr %root
  %loaded = load ptr, ptr %loaded
  %word = add i64 %word, 1
  %number = ptrtoint ptr %next to i64
  %returned = call ptr @identity(ptr %returned)
  call void @llvm.gcwrite(ptr %value, ptr %next, ptr %next)
  call void @llvm.gcwrite(ptr %frozen, ptr %value, ptr %value)
  call void @llvm.gcwrite(ptr %frozen, ptr %frozen, ptr %frozen)
  call void @llvm.gcwrite(ptr %chosen, ptr %chosen, ptr %chosen)
  call void @llvm.gcwrite(ptr %loaded, ptr %loaded, ptr %loaded)
  call void @llvm.gcwrite(ptr %returned, ptr %returned, ptr %returned)
  call void @tally_gcwrite_i64(i64 %word, ptr %next, ptr %next)
  call void @tally_gcwrite_i64(i64 %number, ptr %next, ptr %next)
  %read = call ptr @llvm.gcread(ptr %next, ptr %next)
  store ptr %value, ptr %next
  store ptr %next, ptr %root
  store ptr %frozen, ptr %root
  call void @churn()
  call void @expect(ptr %next, i64 1)
  br label %nowhere
}
define void @two_steps(ptr %value) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %value, ptr %root
  call void @churn()
  ret void
nowhere:
  %first = getelementptr i8, ptr %second, i64 0
  %second = getelementptr i8, ptr %first, i64 0
  %before = getelementptr i8, ptr %first, i64 8
  %thawed = freeze ptr %cast
  %cast = bitcast ptr %thawed to ptr
  call void @llvm.gcwrite(ptr %value, ptr %first, ptr %second)
  call void @llvm.gcwrite(ptr %value, ptr %first, ptr %before)
  call void @llvm.gcwrite(ptr %thawed, ptr %thawed, ptr %cast)
  %read = call ptr @llvm.gcread(ptr %cast, ptr %thawed)
  store ptr %value, ptr %first
  store ptr %before, ptr %root
  call void @churn()
  call void @expect(ptr %cast, i64 1)
  br label %further
further:
  %phi = phi ptr [ %first, %nowhere ], [ %phi, %further ]
  %over = phi ptr [ %second, %nowhere ], [ %phi, %further ]
  call void @llvm.gcwrite(ptr %over, ptr %phi, ptr %phi)
  br label %further
}
define ptr @identity(ptr %value) gc "refcount" {
  ret ptr %value
}
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @one_step(ptr %box)
  call void @two_steps(ptr %box)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret i32 0
}
