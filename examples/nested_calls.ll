; h(f(), g()): the mistake that every new frontend makes once, and how to avoid it.
;
; f returns a new object. While g runs, a collection may come by, and nothing but an SSA value knows f's object: so the frontend
; makes a stack slot for the result of every call that is followed by another, declares it a root, and stores the result there
; before the next call. g collects on purpose here. Take out the store marked below and `tally run --zeal` stops in h.
;
;     tally run examples/nested_calls.ll

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

; Box { long number; }
@Box.name = private constant [4 x i8] c"Box\00"
@Box = private constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @Box.name, ptr null, ptr null, ptr null, ptr null }

@line = private constant [19 x i8] c"h(f(), g()) = %ld\0A\00"

declare void @llvm.gcroot(ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare i32 @printf(ptr, ...)

; A reference that is returned at once needs no root: it is good until the caller's next safepoint.
define ptr @f() gc "refcount" {
  %new = call ptr @tally_new(ptr @Box)
  store i64 40, ptr %new
  ret ptr %new
}

define ptr @g() gc "refcount" {
  call void @tally_collect()
  %new = call ptr @tally_new(ptr @Box)
  store i64 2, ptr %new
  ret ptr %new
}

; h makes no call, so its parameters need no roots.
define i64 @h(ptr %a, ptr %b) gc "refcount" {
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %sum = add i64 %x, %y
  ret i64 %sum
}

define i32 @main() gc "refcount" {
  %intermediate = alloca ptr
  call void @llvm.gcroot(ptr %intermediate, ptr null)
  store ptr null, ptr %intermediate

  %first = call ptr @f()
  store ptr %first, ptr %intermediate           ; this store
  %second = call ptr @g()
  %kept = load ptr, ptr %intermediate
  store ptr null, ptr %intermediate
  %sum = call i64 @h(ptr %kept, ptr %second)

  %printed = call i32 (ptr, ...) @printf(ptr @line, i64 %sum)
  ret i32 0
}
