; Hazard: typed references that are stored with others, as a struct, or by memcpy and memset, go past the barrier: the objects are
; lost, or never released.
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memmove.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@Node.name = private constant [5 x i8] c"Node\00"
@Node.refs = private constant [2 x i32] [i32 0, i32 8]
@Node = constant %tally_type { i32 1, i32 0, i64 28, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @Node.refs, i64 0, i64 0, ptr null, ptr @Node.name, ptr null, ptr null, ptr null, ptr null }
@Dead.refs = private constant [1 x i32] [i32 0]
@Dead = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Dead.refs, i64 0, i64 0, ptr null, ptr @Node.name, ptr @dies, ptr null, ptr null, ptr null }
@dead = global i64 0
%pair = type { i64, [2 x ptr addrspace(1)], i32 }
@global = global %pair zeroinitializer
@table = global [4 x ptr addrspace(1)] zeroinitializer

define internal void @dies(ptr %object) {
  %before = load i64, ptr @dead
  %after = add i64 %before, 1
  store i64 %after, ptr @dead
  ret void
}
define internal ptr addrspace(1) @node(i64 %value) noinline gc "refcount" {
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  %at = getelementptr i8, ptr addrspace(1) %node, i64 16
  store i64 %value, ptr addrspace(1) %at
  %last = getelementptr i8, ptr addrspace(1) %node, i64 24
  store i32 99, ptr addrspace(1) %last
  ret ptr addrspace(1) %node
}
define internal void @churn() noinline gc "refcount" {
  call void @tally_collect()
  %a = call ptr addrspace(1) @node(i64 666)
  %b = call ptr addrspace(1) @node(i64 667)
  %c = call ptr addrspace(1) @node(i64 668)
  call void @tally_collect()
  ret void
}
define internal i64 @value(ptr addrspace(1) %node) noinline gc "refcount" {
  %at = getelementptr i8, ptr addrspace(1) %node, i64 16
  %value = load i64, ptr addrspace(1) %at
  ret i64 %value
}
define internal void @store_struct(ptr addrspace(1) %to) noinline gc "refcount" {
  %a = call ptr addrspace(1) @node(i64 1)
  %b = call ptr addrspace(1) @node(i64 10)
  %one = insertvalue { [2 x ptr addrspace(1)], i64 } poison, ptr addrspace(1) %a, 0, 0
  %two = insertvalue { [2 x ptr addrspace(1)], i64 } %one, ptr addrspace(1) %b, 0, 1
  %all = insertvalue { [2 x ptr addrspace(1)], i64 } %two, i64 5, 1
  store { [2 x ptr addrspace(1)], i64 } %all, ptr addrspace(1) %to
  ret void
}
define internal void @store_to_global() noinline gc "refcount" {
  %a = call ptr addrspace(1) @node(i64 100)
  %b = call ptr addrspace(1) @node(i64 1000)
  %one = insertvalue %pair { i64 7, [2 x ptr addrspace(1)] zeroinitializer, i32 8 }, ptr addrspace(1) %a, 1, 0
  %two = insertvalue %pair %one, ptr addrspace(1) %b, 1, 1
  store %pair %two, ptr @global
  ret void
}
define internal void @copy_to_object(ptr addrspace(1) %to) noinline gc "refcount" {
  %from = call ptr addrspace(1) @node(i64 5)
  %a = call ptr addrspace(1) @node(i64 10000)
  store ptr addrspace(1) %a, ptr addrspace(1) %from
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %to, ptr addrspace(1) %from, i64 28, i1 false)
  ret void
}
define internal void @copy_words(ptr addrspace(1) %to, i64 %words) noinline gc "refcount" {
  %from = alloca [2 x ptr addrspace(1)]
  %a = call ptr addrspace(1) @node(i64 100000)
  store ptr addrspace(1) null, ptr %from
  %second = getelementptr i8, ptr %from, i64 8
  store ptr addrspace(1) %a, ptr %second
  %bytes = shl nuw i64 %words, 3
  call void @llvm.memmove.p1.p0.i64(ptr addrspace(1) %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
define internal void @copy_to_global() noinline gc "refcount" {
  %local = alloca %pair
  store i64 11, ptr %local
  %a.at = getelementptr %pair, ptr %local, i32 0, i32 1, i32 0
  %b.at = getelementptr %pair, ptr %local, i32 0, i32 1, i32 1
  %c.at = getelementptr %pair, ptr %local, i32 0, i32 2
  %a = call ptr addrspace(1) @node(i64 3)
  store ptr addrspace(1) %a, ptr %a.at
  %b = call ptr addrspace(1) @node(i64 30)
  store ptr addrspace(1) %b, ptr %b.at
  store i32 12, ptr %c.at
  call void @llvm.memcpy.p0.p0.i64(ptr @global, ptr %local, i64 32, i1 false)
  ret void
}
define internal void @store_to_table(i64 %at) noinline gc "refcount" {
  %a = call ptr addrspace(1) @node(i64 300)
  %slot = getelementptr ptr addrspace(1), ptr @table, i64 %at
  store ptr addrspace(1) %a, ptr %slot
  ret void
}
define internal void @fill_object() noinline gc "refcount" {
  %to = call ptr addrspace(1) @node(i64 5)
  %dead = call ptr addrspace(1) @tally_new(ptr @Dead)
  store ptr addrspace(1) %dead, ptr addrspace(1) %to
  call void @churn()
  call void @llvm.memset.p1.i64(ptr addrspace(1) %to, i8 0, i64 28, i1 false)
  call void @churn()
  %once = load i64, ptr @dead
  call void @expect(i64 %once, i64 1)
  %zero = call i64 @value(ptr addrspace(1) %to)
  call void @expect(i64 %zero, i64 0)
  ret void
}
define internal void @expect(i64 %found, i64 %wanted) noinline "gc-leaf-function" {
  %right = icmp eq i64 %found, %wanted
  br i1 %right, label %on, label %stop
stop:
  call void @exit(i32 1)
  unreachable
on:
  ret void
}
declare void @exit(i32) noreturn "gc-leaf-function"
define internal void @fields(ptr addrspace(1) %node, i64 %wanted) noinline gc "refcount" {
  %a = load ptr addrspace(1), ptr addrspace(1) %node
  %there = icmp ne ptr addrspace(1) %a, null
  br i1 %there, label %first, label %next
first:
  %x = call i64 @value(ptr addrspace(1) %a)
  br label %next
next:
  %sum = phi i64 [ 0, %0 ], [ %x, %first ]
  %at = getelementptr i8, ptr addrspace(1) %node, i64 8
  %b = load ptr addrspace(1), ptr addrspace(1) %at
  %too = icmp ne ptr addrspace(1) %b, null
  br i1 %too, label %second, label %end
second:
  %y = call i64 @value(ptr addrspace(1) %b)
  br label %end
end:
  %more = phi i64 [ 0, %next ], [ %y, %second ]
  %all = add i64 %sum, %more
  call void @expect(i64 %all, i64 %wanted)
  ret void
}
define i32 @main() gc "refcount" {
  %node = call ptr addrspace(1) @node(i64 0)
  call void @churn()
  call void @store_struct(ptr addrspace(1) %node)
  call void @churn()
  call void @fields(ptr addrspace(1) %node, i64 11)
  %five = call i64 @value(ptr addrspace(1) %node)
  call void @expect(i64 %five, i64 5)
  call void @copy_to_object(ptr addrspace(1) %node)
  call void @churn()
  call void @fields(ptr addrspace(1) %node, i64 10000)
  %rest.at = getelementptr i8, ptr addrspace(1) %node, i64 24
  %rest = load i32, ptr addrspace(1) %rest.at
  %rest.wide = zext i32 %rest to i64
  call void @expect(i64 %rest.wide, i64 99)
  call void @copy_words(ptr addrspace(1) %node, i64 2)
  call void @churn()
  call void @fields(ptr addrspace(1) %node, i64 100000)
  call void @store_to_global()
  call void @churn()
  %a = load ptr addrspace(1), ptr getelementptr (%pair, ptr @global, i32 0, i32 1, i32 0)
  %a.value = call i64 @value(ptr addrspace(1) %a)
  call void @expect(i64 %a.value, i64 100)
  call void @copy_to_global()
  call void @churn()
  %b = load ptr addrspace(1), ptr getelementptr (%pair, ptr @global, i32 0, i32 1, i32 1)
  %b.value = call i64 @value(ptr addrspace(1) %b)
  call void @expect(i64 %b.value, i64 30)
  %seven = load i64, ptr @global
  call void @expect(i64 %seven, i64 11)
  %twelve = load i32, ptr getelementptr (%pair, ptr @global, i32 0, i32 2)
  %twelve.wide = zext i32 %twelve to i64
  call void @expect(i64 %twelve.wide, i64 12)
  call void @llvm.memset.p0.i64(ptr @global, i8 0, i64 32, i1 false)
  call void @store_to_table(i64 2)
  call void @churn()
  %c = load ptr addrspace(1), ptr getelementptr (i8, ptr @table, i64 16)
  %c.value = call i64 @value(ptr addrspace(1) %c)
  call void @expect(i64 %c.value, i64 300)
  call void @fill_object()
  store ptr addrspace(1) null, ptr getelementptr (i8, ptr @table, i64 16)
  ret i32 0
}
