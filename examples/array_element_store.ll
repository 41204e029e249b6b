; Storing into an array element through a derived pointer: what the second and third argument of llvm.gcwrite are for.
;
; llvm.gcwrite(value, object, derived) is told the object that is written to and the address inside it. The derived pointer may be
; computed in any way and kept as long as a root holds the object: nothing moves. Here a pointer runs over a table of 100 boxes
; and is rewound by plain arithmetic; every element is replaced ten times, and the replaced boxes are garbage.
;
;     tally run examples/array_element_store.ll

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

; Box { long number; }: 8 bytes without references.
@Box.name = private constant [4 x i8] c"Box\00"
@Box = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @Box.name, ptr null, ptr null, ptr null, ptr null }

; Table { u64 length; Box *elements[]; }: 8 fixed bytes, length at 0, then elements of 8 bytes with a reference at 0.
@Table.name = private constant [6 x i8] c"Table\00"
@Table.element = private constant [1 x i32] [i32 0]
@Table = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 1, ptr null, i64 0, i64 8, ptr @Table.element, ptr @Table.name, ptr null, ptr null, ptr null, ptr null }

@line = private constant [30 x i8] c"%lu elements, last sum = %ld\0A\00"

declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)
declare ptr @tally_new_array(ptr, i64)
declare i32 @printf(ptr, ...)

define ptr @box(i64 %number) gc "refcount" {
  %new = call ptr @tally_new(ptr @Box)
  store i64 %number, ptr %new
  ret ptr %new
}

; table.elements[*] = box(round), by a cursor that starts behind the last element.
define void @fill(ptr %argument, i64 %round) gc "refcount" {
entry:
  %table = alloca ptr
  call void @llvm.gcroot(ptr %table, ptr null)
  store ptr %argument, ptr %table
  %length = load i64, ptr %argument
  %end = getelementptr { i64, [0 x ptr] }, ptr %argument, i64 0, i32 1, i64 %length
  %begin = getelementptr i8, ptr %argument, i64 8
  br label %loop

loop:
  ; The derived pointer lives across the call of @box. That is free: its base is in a root.
  %cursor = phi ptr [ %end, %entry ], [ %element, %loop ]
  %element = getelementptr i8, ptr %cursor, i64 -8
  %value = call ptr @box(i64 %round)
  %object = load ptr, ptr %table
  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %element)
  %done = icmp eq ptr %element, %begin
  br i1 %done, label %return, label %loop

return:
  ret void
}

define i64 @sum(ptr %table) gc "refcount" {
entry:
  %length = load i64, ptr %table
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %loop ]
  %element = getelementptr { i64, [0 x ptr] }, ptr %table, i64 0, i32 1, i64 %i
  %box = call ptr @llvm.gcread(ptr %table, ptr %element)
  %number = load i64, ptr %box
  %sum.next = add i64 %sum, %number
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %length
  br i1 %done, label %return, label %loop

return:
  ret i64 %sum.next
}

define i32 @main() gc "refcount" {
entry:
  %table = alloca ptr
  call void @llvm.gcroot(ptr %table, ptr null)
  store ptr null, ptr %table
  %new = call ptr @tally_new_array(ptr @Table, i64 100)
  store ptr %new, ptr %table
  br label %loop

loop:
  %round = phi i64 [ 1, %entry ], [ %next, %loop ]
  %object = load ptr, ptr %table
  call void @fill(ptr %object, i64 %round)
  %next = add i64 %round, 1
  %done = icmp eq i64 %next, 11
  br i1 %done, label %print, label %loop

print:
  %filled = load ptr, ptr %table
  %length = load i64, ptr %filled
  %sum = call i64 @sum(ptr %filled)
  %printed = call i32 (ptr, ...) @printf(ptr @line, i64 %length, i64 %sum)
  ret i32 0
}
