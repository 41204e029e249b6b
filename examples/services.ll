; A coroutine, a weak map and the question why an object is alive: what tally.h offers is called from IR by the same names.
;
; The coroutine @numbers hands out five numbers, and lets a keeper have the third. The program notes for each which one came after it, in
; a map that keeps no key alive. After a collection the map has two entries: that of the third number, and that of the fourth, which
; the note of the third keeps.
;
;     tally run examples/services.ll

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

; class Number { long value; }, and class Keeper { Number kept; } with a reference at offset 0.
@Number.name = private constant [7 x i8] c"Number\00"
@Number = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @Number.name, ptr null, ptr null, ptr null, ptr null }
@Keeper.name = private constant [7 x i8] c"Keeper\00"
@Keeper.refs = private constant [1 x i32] [i32 0]
@Keeper = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Keeper.refs, i64 0, i64 0, ptr null, ptr @Keeper.name, ptr null, ptr null, ptr null, ptr null }

@line = private constant [41 x i8] c"%ld entries; the third leads to the %ld\0A\00"
@step = private constant [25 x i8] c"held by a %s, byte %ld: \00"
@root = private constant [19 x i8] c"held by a variable\00"
@steps = private constant [35 x i8] c"%ld steps; %ld entries without it\0A\00"
@value = private constant [5 x i8] c"%ld\0A\00"

declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare ptr @tally_stack_new(ptr, i64)
declare ptr @tally_stack_switch(ptr, ptr)
declare ptr @tally_weak_map_new(i32)
declare ptr @tally_weak_map_get(ptr, ptr)
declare void @tally_weak_map_set(ptr, ptr, ptr)
declare i64 @tally_weak_map_count(ptr)
declare i64 @tally_why_alive(ptr, ptr, ptr)
declare i32 @printf(ptr, ...)
declare i32 @puts(ptr)

; The entry of a coroutine: void *(*)(void *). Its parameter is the value of the first switch to it. A switch to null yields, and the
; result is the coroutine's last value.
define ptr @numbers(ptr %first) gc "refcount" {
entry:
  %keeper = alloca ptr
  call void @llvm.gcroot(ptr %keeper, ptr null)
  store ptr %first, ptr %keeper
  br label %loop

loop:
  %i = phi i64 [ 1, %entry ], [ %next, %yield ]
  %number = call ptr @tally_new(ptr @Number)
  store i64 %i, ptr %number
  %is.third = icmp eq i64 %i, 3
  br i1 %is.third, label %keep, label %yield

keep:
  %by = load ptr, ptr %keeper
  call void @llvm.gcwrite(ptr %number, ptr %by, ptr %by)
  br label %yield

yield:
  %unused = call ptr @tally_stack_switch(ptr null, ptr %number)
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 6
  br i1 %done, label %end, label %loop

end:
  ret ptr null
}

; A step of the path from a root: { object, type, field, offset, … } of tally_holder. Native code: the runtime calls it.
define void @print_step(ptr %holder, ptr %held, ptr %context) {
  %object = load ptr, ptr %holder
  %by.root = icmp eq ptr %object, null
  br i1 %by.root, label %variable, label %field

variable:
  %u = call i32 @puts(ptr @root)
  ret void

field:
  %type.at = getelementptr i8, ptr %holder, i64 8
  %type = load ptr, ptr %type.at
  %offset.at = getelementptr i8, ptr %holder, i64 24
  %offset = load i64, ptr %offset.at
  %printed = call i32 (ptr, ...) @printf(ptr @step, ptr %type, i64 %offset)
  %number = load i64, ptr %held
  %ended = call i32 (ptr, ...) @printf(ptr @value, i64 %number)
  ret void
}

define i32 @main() gc "refcount" {
entry:
  %keeper = alloca ptr
  %map = alloca ptr
  %stack = alloca ptr
  %last = alloca ptr
  %item = alloca ptr
  call void @llvm.gcroot(ptr %keeper, ptr null)
  call void @llvm.gcroot(ptr %map, ptr null)
  call void @llvm.gcroot(ptr %stack, ptr null)
  call void @llvm.gcroot(ptr %last, ptr null)
  call void @llvm.gcroot(ptr %item, ptr null)
  store ptr null, ptr %map
  store ptr null, ptr %stack
  store ptr null, ptr %last
  store ptr null, ptr %item
  %k = call ptr @tally_new(ptr @Keeper)
  store ptr %k, ptr %keeper
  %m = call ptr @tally_weak_map_new(i32 1)
  store ptr %m, ptr %map
  %s = call ptr @tally_stack_new(ptr @numbers, i64 0)
  store ptr %s, ptr %stack
  br label %loop

loop:
  %to = load ptr, ptr %stack
  %sent = load ptr, ptr %keeper
  %new = call ptr @tally_stack_switch(ptr %to, ptr %sent)
  store ptr %new, ptr %item
  %finished = icmp eq ptr %new, null
  br i1 %finished, label %end, label %got

got:
  %before = load ptr, ptr %last
  %is.first = icmp eq ptr %before, null
  br i1 %is.first, label %noted, label %note

note:
  %in = load ptr, ptr %map
  call void @tally_weak_map_set(ptr %in, ptr %before, ptr %new)
  br label %noted

noted:
  %now = load ptr, ptr %item
  store ptr %now, ptr %last
  br label %loop

end:
  store ptr null, ptr %last
  call void @tally_collect()
  %asked = load ptr, ptr %map
  %count = call i64 @tally_weak_map_count(ptr %asked)
  %kept.by = load ptr, ptr %keeper
  %third = load ptr, ptr %kept.by
  %fourth = call ptr @tally_weak_map_get(ptr %asked, ptr %third)
  %number = load i64, ptr %fourth
  %printed = call i32 (ptr, ...) @printf(ptr @line, i64 %count, i64 %number)
  %again = load ptr, ptr %keeper
  %object = load ptr, ptr %again
  %steps = call i64 @tally_why_alive(ptr %object, ptr @print_step, ptr null)

  ; Let go of, the third number and its note die.
  %used = load ptr, ptr %keeper
  call void @llvm.gcwrite(ptr null, ptr %used, ptr %used)
  call void @tally_collect()
  %left.in = load ptr, ptr %map
  %left = call i64 @tally_weak_map_count(ptr %left.in)
  %said = call i32 (ptr, ...) @printf(ptr @steps, i64 %steps, i64 %left)
  ret i32 0
}
