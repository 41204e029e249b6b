; Hazard: a function in which nothing dies has a variable whose address it passes on, calls a leaf that may let go of objects, or stores a
; number through the address of a root. Its caller counts no root for the call, so it may not free what waits: the object that the
; caller's root has left.
; scenarios 127.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare ptr @box(i64)
declare ptr @tally_new(ptr)
declare void @churn()
declare void @expect(ptr, i64) nounwind "gc-leaf-function"
declare i64 @strlen(ptr) nounwind "gc-leaf-function"

define internal i64 @peek(ptr %p) noinline nounwind {
  %o = load ptr, ptr %p
  %v = load i64, ptr %o
  ret i64 %v
}

define internal i64 @lends(ptr %o) noinline nounwind gc "refcount" {
  %x = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %x, ptr @pair)
  call void @llvm.lifetime.start.p0(ptr %x)
  store ptr %o, ptr %x
  %v = call i64 @peek(ptr %x)
  call void @llvm.lifetime.end.p0(ptr %x)
  ret i64 %v
}

define internal i64 @calls_a_leaf(ptr %o) noinline nounwind gc "refcount" {
  %v = load i64, ptr %o
  call void @expect(ptr %o, i64 7)
  ret i64 %v
}

define i64 @calls_a_leaf_too(ptr %o) noinline nounwind gc "refcount" {
  %v = load i64, ptr %o
  call void @expect(ptr %o, i64 7)
  ret i64 %v
}

define internal void @reports(ptr %to) noinline nounwind gc "refcount" {
  %second = getelementptr i64, ptr %to, i64 1
  store i64 5, ptr %second
  ret void
}

define void @borrows(ptr %holder, ptr %alias, i32 %which) noinline gc "refcount" {
  %r = alloca ptr
  %h = alloca ptr
  %lent = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %h, ptr null)
  call void @llvm.gcroot(ptr %lent, ptr @pair)
  store ptr %holder, ptr %h
  %o = load ptr, ptr %holder
  store ptr %o, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %alias, ptr %alias)
  switch i32 %which, label %one [ i32 1, label %two
                                  i32 2, label %three
                                  i32 3, label %four ]
one:
  %a = call i64 @lends(ptr %o)
  br label %end
two:
  %b = call i64 @calls_a_leaf(ptr %o)
  br label %end
three:
  %c = call i64 @calls_a_leaf_too(ptr %o)
  br label %end
four:
  call void @reports(ptr %lent)
  br label %end
end:
  %v = phi i64 [ %a, %one ], [ %b, %two ], [ %c, %three ], [ 0, %four ]
  %fresh = call ptr @box(i64 1000)
  call void @churn()
  %again = load ptr, ptr %r
  call void @expect(ptr %again, i64 7)
  ret void
}

define void @each(i32 %which) noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %holder = call ptr @tally_new(ptr @pair)
  store ptr %holder, ptr %r
  %box = call ptr @box(i64 7)
  call void @llvm.gcwrite(ptr %box, ptr %holder, ptr %holder)
  call void @borrows(ptr %holder, ptr %holder, i32 %which)
  ret void
}

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }

define i32 @main() gc "refcount" {
  call void @each(i32 0)
  call void @each(i32 1)
  call void @each(i32 2)
  call void @each(i32 3)
  ret i32 0
}
