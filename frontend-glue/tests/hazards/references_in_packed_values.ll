; Hazard: a packed struct in registers has a reference at a byte that is no multiple of eight, and the runtime reads words at such
; multiples: the object died on its way, as a result and as an argument.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)

define <{ i32, ptr, [2 x <{ i8, ptr }>] }> @make(i64 %n) noinline gc "refcount" {
  %one = alloca ptr
  %two = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  call void @llvm.gcroot(ptr %two, ptr null)
  %first = call ptr @box(i64 %n)
  store ptr %first, ptr %one
  %more = add i64 %n, 1
  %second = call ptr @box(i64 %more)
  store ptr %second, ptr %two
  %most = add i64 %n, 2
  %third = call ptr @box(i64 %most)
  %a = insertvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> zeroinitializer, ptr %first, 1
  %b = insertvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> %a, ptr %second, 2, 0, 1
  %c = insertvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> %b, ptr %third, 2, 1, 1
  ret <{ i32, ptr, [2 x <{ i8, ptr }>] }> %c
}

define void @take(<{ i32, ptr, [2 x <{ i8, ptr }>] }> %packed, i64 %n) noinline gc "refcount" {
  %one = alloca ptr
  %two = alloca ptr
  %three = alloca ptr
  call void @llvm.gcroot(ptr %one, ptr null)
  call void @llvm.gcroot(ptr %two, ptr null)
  call void @llvm.gcroot(ptr %three, ptr null)
  %first = extractvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> %packed, 1
  %second = extractvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> %packed, 2, 0, 1
  %third = extractvalue <{ i32, ptr, [2 x <{ i8, ptr }>] }> %packed, 2, 1, 1
  store ptr %first, ptr %one
  store ptr %second, ptr %two
  store ptr %third, ptr %three
  call void @churn()
  %a = load ptr, ptr %one
  %b = load ptr, ptr %two
  %c = load ptr, ptr %three
  %more = add i64 %n, 1
  %most = add i64 %n, 2
  call void @expect(ptr %a, i64 %n)
  call void @expect(ptr %b, i64 %more)
  call void @expect(ptr %c, i64 %most)
  ret void
}

define i32 @main() gc "refcount" {
  %made = call <{ i32, ptr, [2 x <{ i8, ptr }>] }> @make(i64 5)
  call void @take(<{ i32, ptr, [2 x <{ i8, ptr }>] }> %made, i64 5)
  call void @churn()
  %again = call <{ i32, ptr, [2 x <{ i8, ptr }>] }> @make(i64 50)
  call void @take(<{ i32, ptr, [2 x <{ i8, ptr }>] }> %again, i64 50)
  ret i32 0
}
