; Intermediate values of an expression: reverse(append(range(1, 100), range(101, 200))) on linked lists.
;
; Every argument that is itself a call is an intermediate value with a root slot of its own; a slot is used again for a later
; intermediate value, and null is stored where a value is no longer needed. Inside the functions the parameters are roots, because
; allocations follow. The middle of the expression is garbage when it is done.
;
;     tally run examples/intermediate_values.ll

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
%Cell = type { ptr, i64 }

; Cell { Cell *tail; long head; }
@Cell.name = private constant [5 x i8] c"Cell\00"
@Cell.refs = private constant [1 x i32] [i32 0]
@Cell.type = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Cell.refs, i64 0, i64 0, ptr null, ptr @Cell.name, ptr null, ptr null, ptr null, ptr null }

@line = private constant [30 x i8] c"first = %ld, checksum = %llu\0A\00"

declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)
declare i32 @printf(ptr, ...)

; cons(head, tail): the allocation is a safepoint and tail is needed after it, so it goes into a root first.
define ptr @cons(i64 %head, ptr %tail) gc "refcount" {
  %tail.root = alloca ptr
  call void @llvm.gcroot(ptr %tail.root, ptr null)
  store ptr %tail, ptr %tail.root
  %cell = call ptr @tally_new(ptr @Cell.type)
  %head.slot = getelementptr %Cell, ptr %cell, i64 0, i32 1
  store i64 %head, ptr %head.slot
  %tail.kept = load ptr, ptr %tail.root
  %tail.slot = getelementptr %Cell, ptr %cell, i64 0, i32 0
  call void @llvm.gcwrite(ptr %tail.kept, ptr %cell, ptr %tail.slot)
  ret ptr %cell
}

; range(first, last), built from its end.
define ptr @range(i64 %first, i64 %last) gc "refcount" {
entry:
  br label %loop

loop:
  ; The list so far goes into @cons, which roots it; between two calls nothing can happen to it.
  %n = phi i64 [ %last, %entry ], [ %n.next, %loop ]
  %list = phi ptr [ null, %entry ], [ %longer, %loop ]
  %longer = call ptr @cons(i64 %n, ptr %list)
  %n.next = sub i64 %n, 1
  %more = icmp sge i64 %n.next, %first
  br i1 %more, label %loop, label %return

return:
  ret ptr %longer
}

; append(list, end) = list is empty ? end : cons(head of list, append(tail of list, end))
define ptr @append(ptr %list, ptr %end) gc "refcount" {
entry:
  %empty = icmp eq ptr %list, null
  br i1 %empty, label %nothing, label %something

nothing:
  ret ptr %end

something:
  %head.slot = getelementptr %Cell, ptr %list, i64 0, i32 1
  %head = load i64, ptr %head.slot
  %tail = call ptr @llvm.gcread(ptr %list, ptr %list)
  %rest = call ptr @append(ptr %tail, ptr %end)
  %result = call ptr @cons(i64 %head, ptr %rest)
  ret ptr %result
}

; reverse(list): both the rest of the list and the reversed part are needed after @cons.
define ptr @reverse(ptr %argument) gc "refcount" {
entry:
  %list = alloca ptr
  %reversed = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  call void @llvm.gcroot(ptr %reversed, ptr null)
  store ptr %argument, ptr %list
  store ptr null, ptr %reversed
  br label %test

test:
  %cell = load ptr, ptr %list
  %done = icmp eq ptr %cell, null
  br i1 %done, label %return, label %step

step:
  %head.slot = getelementptr %Cell, ptr %cell, i64 0, i32 1
  %head = load i64, ptr %head.slot
  %tail = call ptr @llvm.gcread(ptr %cell, ptr %cell)
  store ptr %tail, ptr %list
  %so.far = load ptr, ptr %reversed
  %longer = call ptr @cons(i64 %head, ptr %so.far)
  store ptr %longer, ptr %reversed
  br label %test

return:
  %result = load ptr, ptr %reversed
  ret ptr %result
}

; A sum that depends on the order. No call, so no root.
define i64 @checksum(ptr %list) gc "refcount" {
entry:
  br label %test

test:
  %cell = phi ptr [ %list, %entry ], [ %tail, %step ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %step ]
  %done = icmp eq ptr %cell, null
  br i1 %done, label %return, label %step

step:
  %head.slot = getelementptr %Cell, ptr %cell, i64 0, i32 1
  %head = load i64, ptr %head.slot
  %scaled = mul i64 %sum, 31
  %sum.next = add i64 %scaled, %head
  %tail = call ptr @llvm.gcread(ptr %cell, ptr %cell)
  br label %test

return:
  ret i64 %sum
}

define i32 @main() gc "refcount" {
  %intermediate = alloca ptr
  call void @llvm.gcroot(ptr %intermediate, ptr null)
  store ptr null, ptr %intermediate

  %low = call ptr @range(i64 1, i64 100)
  store ptr %low, ptr %intermediate              ; needed while the next range is built
  %high = call ptr @range(i64 101, i64 200)
  %low.kept = load ptr, ptr %intermediate
  store ptr null, ptr %intermediate              ; from here on it is append's business
  %both = call ptr @append(ptr %low.kept, ptr %high)
  %reversed = call ptr @reverse(ptr %both)
  store ptr %reversed, ptr %intermediate         ; the same slot, the next intermediate value

  %head.slot = getelementptr %Cell, ptr %reversed, i64 0, i32 1
  %head = load i64, ptr %head.slot
  %list = load ptr, ptr %intermediate
  %sum = call i64 @checksum(ptr %list)
  %printed = call i32 (ptr, ...) @printf(ptr @line, i64 %head, i64 %sum)
  ret i32 0
}
