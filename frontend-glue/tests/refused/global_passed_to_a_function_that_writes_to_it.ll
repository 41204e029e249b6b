; REFUSED: in @main: @put is given the address of the global @head, and writes references through it, of which no root is made; name the variable in the write itself
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
define internal void @put(ptr %place, ptr %value) gc "refcount" {
  %variable = alloca ptr
  store ptr %place, ptr %variable
  %slot = load ptr, ptr %variable
  call void @llvm.gcwrite(ptr %value, ptr %slot, ptr %slot)
  ret void
}
define void @pass_on(ptr %place, ptr %value) gc "refcount" {
  call void @put(ptr %place, ptr %value)
  ret void
}
define i32 @main() gc "refcount" {
  %object = call ptr @tally_new(ptr @node)
  call void @put(ptr @head, ptr %object)
  ret i32 0
}
