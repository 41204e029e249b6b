; REFUSED: in @main: gcwrite at offset 24 of an object of @node, which has 24 bytes
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
define i32 @main(i32 %count, ptr %words) gc "refcount" {
  %c = icmp sgt i32 %count, 1
  br i1 %c, label %one, label %two
one:
  %first = call ptr @tally_new(ptr @node)
  br label %both
two:
  %second = call ptr @tally_try_new(ptr @node)
  br label %both
both:
  %object = phi ptr [ %first, %one ], [ %second, %two ]
  br label %write
write:
  %slot = getelementptr i8, ptr %object, i64 24
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %slot)
  ret i32 0
}
