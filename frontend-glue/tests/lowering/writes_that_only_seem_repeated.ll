; A second write keeps its barrier where the first may have logged something else, or the log may have been read since.
; TOTAL-COUNT-20: call preserve_mostcc void @tally_log_slow
; TOTAL-NOT: call preserve_mostcc void @tally_log_slow
%pair = type { ptr, ptr }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @poke()
declare void @leaf(ptr) "gc-leaf-function"

define void @another_object(ptr %o, ptr %other, ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  call void @llvm.gcwrite(ptr %v, ptr %other, ptr %other)
  ret void
}
define void @safepoint_between(ptr %p, ptr %v) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  %a = load ptr, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %a, ptr %a)
  call void @poke()
  %b = load ptr, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %b, ptr %b)
  ret void
}
define void @variable_changed(ptr %o, ptr %other, ptr %v) gc "refcount" {
  %local = alloca ptr
  store ptr %o, ptr %local
  %a = load ptr, ptr %local
  call void @llvm.gcwrite(ptr %v, ptr %a, ptr %a)
  store ptr %other, ptr %local
  %b = load ptr, ptr %local
  call void @llvm.gcwrite(ptr %v, ptr %b, ptr %b)
  ret void
}
define void @object_in_a_field(ptr %o, ptr %v) gc "refcount" {
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  %field = load ptr, ptr %o
  call void @llvm.gcwrite(ptr %v, ptr %field, ptr %field)
  ret void
}
define void @far_into_an_array(ptr %o, ptr %v) gc "refcount" {
  %far = getelementptr i8, ptr %o, i64 256
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %far)
  ret void
}
define void @in_front_of_the_object(ptr %o, ptr %v) gc "refcount" {
  %before = getelementptr i64, ptr %o, i32 -1
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %before)
  ret void
}
define void @index_nobody_knows(ptr %o, ptr %v, i64 %index) gc "refcount" {
  %element = getelementptr ptr, ptr %o, i64 %index
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %element)
  ret void
}
define void @variable_behind_an_escape(ptr %o, ptr %v) gc "refcount" {
  %local = alloca ptr
  store ptr %o, ptr %local
  %a = load ptr, ptr %local
  call void @llvm.gcwrite(ptr %v, ptr %a, ptr %a)
  call void @leaf(ptr %local)
  %b = load ptr, ptr %local
  call void @llvm.gcwrite(ptr %v, ptr %b, ptr %b)
  ret void
}
define void @another_block(ptr %o, ptr %v, i1 %c) gc "refcount" {
  br i1 %c, label %one, label %two
one:
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  br label %two
two:
  call void @llvm.gcwrite(ptr %v, ptr %o, ptr %o)
  ret void
}
define void @across_iterations(ptr %p, i32 %n) gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %p, ptr %root
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %o = load ptr, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %o, ptr %o)
  %next = getelementptr i8, ptr %o, i64 8
  %k = load ptr, ptr %next
  store ptr %k, ptr %root
  call void @llvm.gcwrite(ptr null, ptr %k, ptr %k)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
