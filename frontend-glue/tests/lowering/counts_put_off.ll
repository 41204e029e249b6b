; Pattern "postponed": a loop of writes that meets no safepoint but polls of the lowering's own notes what it would count, and every
; stop that it may reach makes up for it first. What falls between is put off along with the writes. A loop that writes to one word again
; and again counts at once: a variable, a field of an object that stays the same, in a root that nothing is stored to meanwhile.
; OPTIONS: operations
; CHECK: define void @loop_of_writes
; CHECK-NOT: tally.count.apply
; CHECK: done:
; CHECK: call void @tally.count.apply()
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @call_behind_the_loop
; CHECK: done:
; CHECK: call void @tally.count.apply()
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke()
; CHECK-NOT: tally.count.apply
; CHECK: define void @call_on_one_way
; CHECK: calling:
; CHECK: call void @tally.count.apply()
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke()
; CHECK: latch:
; CHECK-NOT: tally.count.apply
; CHECK: done:
; CHECK: call void @tally.count.apply()
; CHECK: ret void
; CHECK: define void @safepoint_in_each_round
; CHECK-NOT: tally.count.apply
; CHECK: define void @poll_that_was_asked_for
; CHECK-NOT: tally.count.apply
; CHECK: define void @leaf_in_each_round
; CHECK-NOT: tally.count.apply
; CHECK: define void @no_loop
; CHECK-NOT: tally.count.apply
; CHECK: define void @drop_behind_the_loop
; CHECK: call void @llvm.gcwrite
; CHECK-NOT: tally.count.apply
; CHECK: call void @tally_safepoint()
; CHECK: done:
; CHECK: call void @tally.count.drop
; CHECK: call void @tally.count.apply()
; CHECK: call void (...) @tally.count.finish()
; CHECK: define void @call_behind_a_polled_loop
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @tally_safepoint()
; CHECK: done:
; CHECK: call void @tally.count.apply()
; CHECK: call void (...) @tally.count.drain()
; CHECK: call void @poke()
; CHECK: define void @one_variable
; CHECK-NOT: tally.count.apply
; CHECK: define void @one_field
; CHECK-NOT: tally.count.apply
; CHECK: define void @field_of_another_each_time
; CHECK: call void @tally.count.apply()
; CHECK: define void @end_of_file
; REMARK-DAG: in @loop_of_writes: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @call_behind_the_loop: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @call_on_one_way: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @drop_behind_the_loop: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @call_behind_a_polled_loop: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @field_of_another_each_time: remark: no count here: the next safepoint makes up for this write
; REMARK-DAG: in @one_field: remark: no count: root `root` borrowed its object from safepoint to safepoint
; REMARK-DAG: in @field_of_another_each_time: remark: no count: root `root` borrowed its object from safepoint to safepoint
; REMARK-DAG: in @field_of_another_each_time: remark: no count: root `root` borrowed its object from safepoint to safepoint
@global = global ptr null
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_safepoint()
declare void @poke() nounwind
declare void @native() nounwind "gc-leaf-function"

define void @loop_of_writes(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %slot = getelementptr ptr, ptr %o, i64 %i
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %slot)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @call_behind_the_loop(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %slot = getelementptr ptr, ptr %o, i64 %i
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %slot)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  call void @poke()
  ret void
}
define void @call_on_one_way(ptr %object, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %object, ptr %root
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %o = load ptr, ptr %root
  %slot = getelementptr ptr, ptr %o, i64 %i
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %slot)
  %bits = and i64 %i, 1023
  %now = icmp eq i64 %bits, 0
  br i1 %now, label %calling, label %latch
calling:
  call void @poke()
  br label %latch
latch:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @safepoint_in_each_round(i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  call void @llvm.gcwrite(ptr null, ptr @global, ptr @global)
  call void @poke()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @poll_that_was_asked_for(i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  call void @llvm.gcwrite(ptr null, ptr @global, ptr @global)
  call void @tally_safepoint()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @leaf_in_each_round(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %slot = getelementptr ptr, ptr %o, i64 %i
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %slot)
  call void @native()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @no_loop(ptr %o) nounwind gc "refcount-prompt" {
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %o)
  ret void
}
define void @drop_behind_the_loop(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %o, ptr %root
  call void @poke()
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %slot = getelementptr ptr, ptr %o, i64 %i
  call void @llvm.gcwrite(ptr %o, ptr %o, ptr %slot)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @call_behind_a_polled_loop(i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %object = load ptr, ptr @global
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %object)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  call void @poke()
  ret void
}
define void @one_variable(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  call void @llvm.gcwrite(ptr %o, ptr @global, ptr @global)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @one_field(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %o, ptr %root
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %object = load ptr, ptr %root
  %field = getelementptr i8, ptr %object, i64 8
  %first = load ptr, ptr %field
  %link = load ptr, ptr %first
  call void @llvm.gcwrite(ptr %link, ptr %object, ptr %field)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @field_of_another_each_time(ptr %o, i64 %n) nounwind gc "refcount-prompt" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %o, ptr %root
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %round ]
  %object = load ptr, ptr %root
  %link = load ptr, ptr %object
  store ptr %link, ptr %root
  %field = getelementptr i8, ptr %object, i64 8
  call void @llvm.gcwrite(ptr %o, ptr %object, ptr %field)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %round, label %done
done:
  ret void
}
define void @end_of_file() gc "refcount-prompt" {
  ret void
}
