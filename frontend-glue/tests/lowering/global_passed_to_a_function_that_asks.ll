; A function that asks whether it was given an object: what it does with a global is its own affair, so there is a warning only.
; WARNING-DAG: in @main: @put is given the address of the global @head
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Node\00"
@refs = private constant [1 x i32] [i32 8]
@node = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_try_new(ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @tally_collect()
declare ptr @malloc(i64)
@head = global ptr null
declare i32 @tally_is_in_heap(ptr)
define void @put(ptr %object, ptr %slot, ptr %value) gc "refcount" {
  %is_object = call i32 @tally_is_in_heap(ptr %object)
  %c = icmp ne i32 %is_object, 0
  br i1 %c, label %write, label %other
write:
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %slot)
  ret void
other:
  ret void
}
define i32 @main() gc "refcount" {
  call void @put(ptr @head, ptr @head, ptr null)
  br i1 false, label %never, label %out
never:
  call void @put(ptr @node, ptr @node, ptr null)
  br label %out
out:
  ret i32 0
}
