; What every hazard's program is linked with: a type, a way to make all that is dead unrecognisable, and a check.
;
; A Box is { Box *next; long value; }. `churn` collects and then allocates as much again as was ever there, with -1 in every
; value: an object whose root was lost is overwritten, and `expect` sees it. All of it stands in a module of its own, so
; that nothing here can be inlined into a hazard and help it.
;
; Under zeal no memory is used again, and the use of what has died is noticed: FEW_BOXES in the environment spares churn the rest.

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

@Box.name = private constant [4 x i8] c"Box\00"
@Box.refs = private constant [1 x i32] zeroinitializer
@Box = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Box.refs,
                              i64 0, i64 0, ptr null, ptr @Box.name, ptr null, ptr null, ptr null, ptr null }
@few_boxes = private constant [10 x i8] c"FEW_BOXES\00"
@wrong = private constant [46 x i8] c"lost: a box of %ld holds %ld, and that is all\00"

declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare i32 @printf(ptr, ...) "gc-leaf-function"
declare void @exit(i32) noreturn
declare ptr @getenv(ptr) "gc-leaf-function"

; A new box.
define ptr @box(i64 %value) gc "refcount" {
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 %value, ptr %at
  ret ptr %box
}

; Every epoch that can run runs, and what it found dead is written over: the boxes must be of the heap.
define void @churn() "tally-stack-objects"="false" gc "refcount" {
entry:
  call void @tally_collect()
  %few = call ptr @getenv(ptr @few_boxes)
  %is_many = icmp eq ptr %few, null
  %boxes = select i1 %is_many, i64 3000, i64 60
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %garbage = call ptr @box(i64 -1)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %boxes
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Is this still the box of `value`?
define void @expect(ptr %box, i64 %value) "gc-leaf-function" {
  %at = getelementptr i8, ptr %box, i64 8
  %found = load i64, ptr %at
  %same = icmp eq i64 %found, %value
  br i1 %same, label %right, label %lost
right:
  ret void
lost:
  %printed = call i32 (ptr, ...) @printf(ptr @wrong, i64 %value, i64 %found)
  call void @exit(i32 9)
  unreachable
}
