; Hazard: what belongs to a function besides its code: data in front of its address, and a variable in its group, of which one
; copy is left when programs are linked.
; WITH: modules/counted.ll
declare ptr @tally_new(ptr)
@Box = external constant i8
declare void @expect(ptr, i64) "gc-leaf-function"
declare ptr @counted_elsewhere()
@table = global ptr @with_prefix

define ptr @with_prefix() noinline gc "refcount" prefix i32 1234 {
  %box = call ptr @tally_new(ptr @Box)
  %at = getelementptr i8, ptr %box, i64 8
  store i64 1, ptr %at
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
  %wrong = icmp ne i32 %data, 1234
  %status = zext i1 %wrong to i32
  ret i32 %status
}
