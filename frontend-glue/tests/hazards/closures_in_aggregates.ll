; Hazard: a call with a bundle through an element of an aggregate calls the aggregate's first element instead (LLVM 22).
; As an argument, as a result, loaded as a whole, of an invoke, through casts, and taken apart by the optimiser only.
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
declare i32 @__gcc_personality_v0(...)
declare void @abort()

define i64 @wrong(i64 %x) noinline gc "refcount" {
  call void @abort()
  ret i64 0
}

define i64 @right(i64 %x) noinline gc "refcount" {
  call void @churn()
  %y = add i64 %x, 1
  ret i64 %y
}

define i64 @argument({ ptr, ptr } %closure, i64 %x) noinline gc "refcount" {
  %code = extractvalue { ptr, ptr } %closure, 1
  %y = call i64 %code(i64 %x)
  ret i64 %y
}

define { ptr, ptr } @make() noinline gc "refcount" {
  call void @churn()
  ret { ptr, ptr } { ptr @wrong, ptr @right }
}

define i64 @result(i64 %x) noinline gc "refcount" {
  %closure = call { ptr, ptr } @make()
  %code = extractvalue { ptr, ptr } %closure, 1
  %y = call i64 %code(i64 %x)
  ret i64 %y
}

@pair = global { ptr, ptr } { ptr @wrong, ptr @right }

define i64 @loaded(i64 %x) noinline gc "refcount" {
  %closure = load { ptr, ptr }, ptr @pair
  %code = extractvalue { ptr, ptr } %closure, 1
  %y = call i64 %code(i64 %x)
  ret i64 %y
}

define i64 @invoked({ i64, { ptr, ptr } } %closure, i64 %x) noinline gc "refcount" personality ptr @__gcc_personality_v0 {
  %code = extractvalue { i64, { ptr, ptr } } %closure, 1, 1
  %y = invoke i64 %code(i64 %x) to label %done unwind label %thrown
done:
  ret i64 %y
thrown:
  %pad = landingpad { ptr, i32 } cleanup
  ret i64 0
}

define i64 @as_integer({ i64, i64 } %closure, i64 %x) noinline gc "refcount" {
  %word = extractvalue { i64, i64 } %closure, 1
  %code = inttoptr i64 %word to ptr
  %y = call i64 %code(i64 %x)
  ret i64 %y
}

; Only when the slot has become a register is this an element.
define i64 @through_memory({ ptr, ptr } %closure, i64 %x) noinline gc "refcount" {
  %slot = alloca { ptr, ptr }
  store { ptr, ptr } %closure, ptr %slot
  %at = getelementptr i8, ptr %slot, i64 8
  %code = load ptr, ptr %at
  %y = call i64 %code(i64 %x)
  ret i64 %y
}

; The result does not fit into a bundled call's registers: a thunk is handed the code.
define { i64, i64, i64, i64 } @wide(i64 %x) noinline gc "refcount" {
  call void @churn()
  %all = insertvalue { i64, i64, i64, i64 } zeroinitializer, i64 %x, 3
  ret { i64, i64, i64, i64 } %all
}

define i64 @by_thunk({ ptr, ptr } %closure, i64 %x) noinline gc "refcount" {
  %code = extractvalue { ptr, ptr } %closure, 1
  %all = call { i64, i64, i64, i64 } %code(i64 %x)
  %y = extractvalue { i64, i64, i64, i64 } %all, 3
  ret i64 %y
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %a = call i64 @argument({ ptr, ptr } { ptr @wrong, ptr @right }, i64 0)
  %b = call i64 @result(i64 %a)
  %c = call i64 @loaded(i64 %b)
  %d = call i64 @invoked({ i64, { ptr, ptr } } { i64 0, { ptr, ptr } { ptr @wrong, ptr @right } }, i64 %c)
  %right = ptrtoint ptr @right to i64
  %pair.0 = insertvalue { i64, i64 } zeroinitializer, i64 %right, 1
  %e = call i64 @as_integer({ i64, i64 } %pair.0, i64 %d)
  %f = call i64 @through_memory({ ptr, ptr } { ptr @wrong, ptr @right }, i64 %e)
  %g = call i64 @by_thunk({ ptr, ptr } { ptr @wrong, ptr @wide }, i64 %f)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %is = icmp ne i64 %g, 6
  %status = zext i1 %is to i32
  ret i32 %status
}
