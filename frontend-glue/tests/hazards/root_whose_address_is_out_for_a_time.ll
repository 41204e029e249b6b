; Hazard: others write to a root while they have its address. It was passed on before a loop in which the root comes to life again and again
; (an optimiser moved that out of the loop), in an earlier turn of the loop, or to a function that does not keep it; a pointer may be that of one
; root or the other. What is stored so must be found behind the next safepoint, and behind the one that follows.
; scenarios 127, 192.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@where = global ptr null

define void @fill_later(i64 %value) noinline gc "refcount" {
  %box = call ptr @box(i64 %value)
  %slot = load ptr, ptr @where
  store ptr %box, ptr %slot
  ret void
}

define internal void @fill(ptr %slot, i64 %value) noinline gc "refcount" {
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %slot
  call void @churn()
  ret void
}

define void @passed_on_before_the_loop() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %root, ptr @where
  br label %turn
turn:
  %number = phi i64 [ 0, %0 ], [ %next, %turn ]
  call void @llvm.lifetime.start.p0(ptr %root)
  call void @fill_later(i64 %number)
  call void @churn()
  call void @churn()
  %box = load ptr, ptr %root
  call void @expect(ptr %box, i64 %number)
  call void @llvm.lifetime.end.p0(ptr %root)
  call void @churn()
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %turn, label %end
end:
  store ptr null, ptr @where
  ret void
}

define void @passed_on_in_each_turn() noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  br label %turn
turn:
  %number = phi i64 [ 0, %0 ], [ %next, %turn ]
  call void @llvm.lifetime.start.p0(ptr %root)
  store ptr null, ptr %root
  call void @churn()
  store ptr %root, ptr @where
  call void @fill_later(i64 %number)
  call void @churn()
  call void @fill_later(i64 %number)
  call void @churn()
  %box = load ptr, ptr %root
  call void @expect(ptr %box, i64 %number)
  store ptr null, ptr @where
  call void @llvm.lifetime.end.p0(ptr %root)
  call void @churn()
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %turn, label %end
end:
  ret void
}

define void @one_of_two(i1 %first) noinline gc "refcount" {
  %one = alloca [2 x ptr]
  %two = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %one, ptr @pair)
  call void @llvm.gcroot(ptr %two, ptr @pair)
  call void @churn()
  %either = select i1 %first, ptr %one, ptr %two
  %second = getelementptr ptr, ptr %either, i64 1
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %second
  call void @churn()
  call void @fill(ptr %either, i64 9)
  call void @churn()
  call void @churn()
  %eight = load ptr, ptr %second
  %nine = load ptr, ptr %either
  call void @expect(ptr %eight, i64 8)
  call void @expect(ptr %nine, i64 9)
  ret void
}

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }

define i32 @main() gc "refcount" {
  call void @passed_on_before_the_loop()
  call void @passed_on_in_each_turn()
  call void @one_of_two(i1 true)
  call void @one_of_two(i1 false)
  ret i32 0
}
