; Hazard: what belongs to a function besides its code: data in front of its address, data at its address that its code begins with, the
; number of its type by which calls through pointers are checked, and a variable in its group, of which one copy is left when programs are
; linked.
; WITH: modules/counted.ll
declare ptr @tally_new(ptr)
@Box = external constant i8
declare void @expect(ptr, i64) "gc-leaf-function"
declare ptr @counted_elsewhere()
@table = global ptr @with_prefix
@another_table = global ptr @with_prologue
@third_table = global ptr @with_type

define ptr @with_prefix() noinline gc "refcount" prefix i32 1234 {
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 1, ptr %at
  ret ptr %box
}

; Four instructions that do nothing: 0x90909090.
define ptr @with_prologue() noinline gc "refcount" prologue i32 -1869574000 {
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 2, ptr %at
  ret ptr %box
}

; LLVM writes the number in front of the address.
define ptr @with_type() noinline gc "refcount" !kcfi_type !1 {
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 3, ptr %at
  ret ptr %box
}

$counted = comdat any
@count = internal global i64 0, comdat($counted)
define linkonce_odr ptr @counted() noinline comdat gc "refcount" {
  %before = load i64, ptr @count
  %now = add i64 %before, 1
  store i64 %now, ptr @count
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 %now, ptr %at
  ret ptr %box
}

define i32 @main() gc "refcount" {
  %function = load volatile ptr, ptr @table
  %address = getelementptr i8, ptr %function, i64 -4
  %data = load i32, ptr %address
  %box = call ptr %function()
  call void @expect(ptr %box, i64 1)
  %another = call ptr @with_prefix()
  call void @expect(ptr %another, i64 1)
  %first = call ptr @counted()
  call void @expect(ptr %first, i64 1)
  %second = call ptr @counted_elsewhere()
  call void @expect(ptr %second, i64 2)
  %third = call ptr @counted()
  call void @expect(ptr %third, i64 3)
  %with_prologue = load volatile ptr, ptr @another_table
  %prologue = load i32, ptr %with_prologue
  %fourth = call ptr %with_prologue()
  call void @expect(ptr %fourth, i64 2)
  %fifth = call ptr @with_prologue()
  call void @expect(ptr %fifth, i64 2)
  %with_type = load volatile ptr, ptr @third_table
  %in_front = getelementptr i8, ptr %with_type, i64 -4
  %type = load i32, ptr %in_front
  %sixth = call ptr %with_type()
  call void @expect(ptr %sixth, i64 3)
  %seventh = call ptr @with_type()
  call void @expect(ptr %seventh, i64 3)
  %wrong_prefix = icmp ne i32 %data, 1234
  %wrong_prologue = icmp ne i32 %prologue, -1869574000
  %wrong_type = icmp ne i32 %type, 20111
  %prefix_status = select i1 %wrong_prefix, i32 1, i32 0
  %prologue_status = select i1 %wrong_prologue, i32 2, i32 %prefix_status
  %status = select i1 %wrong_type, i32 3, i32 %prologue_status
  ret i32 %status
}

!llvm.module.flags = !{!0}
!0 = !{i32 4, !"kcfi", i32 1}
!1 = !{i32 20111}
