; The second module with a function that has a variable of its own in its group.
declare ptr @tally_new(ptr)
@Box = external constant i8
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

define ptr @counted_elsewhere() gc "refcount" {
  %box = call ptr @counted()
  ret ptr %box
}
