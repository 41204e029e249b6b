; Hazard: LLVM drops what a call with a bundle returns through swifterror: the caller reads its old value.
; Thrown and not, forwarded, with results of all kinds, from an invoke, through a pointer, next to swiftself.
; WITHOUT result-thunks at 0: status 1|signal
; WITHOUT result-thunks at 2: status 1|signal
declare void @churn()
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"
declare void @llvm.gcroot(ptr, ptr)
declare i32 @__gcc_personality_v0(...)
@code = private constant i64 5

define swiftcc void @fail(ptr swifterror %error) noinline gc "refcount" {
  call void @churn()
  store ptr @code, ptr %error
  ret void
}

define swiftcc i64 @maybe(i64 %x, ptr swiftself %self, ptr swifterror %error) noinline gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %self, ptr %root
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  %odd = trunc i64 %x to i1
  br i1 %odd, label %throw, label %done
throw:
  store ptr @code, ptr %error
  br label %done
done:
  %y = add i64 %x, 1
  ret i64 %y
}

; Hands the error of another on, in a register all the way.
define swiftcc { i64, i64, i64, i64 } @forward(ptr swiftself %self, i64 %x, ptr swifterror %error) noinline gc "refcount" {
  %y = call swiftcc i64 @maybe(i64 %x, ptr swiftself %self, ptr swifterror %error)
  call void @churn()
  %all = insertvalue { i64, i64, i64, i64 } zeroinitializer, i64 %y, 3
  ret { i64, i64, i64, i64 } %all
}

@pointer = global ptr @maybe

define i32 @main() gc "refcount" personality ptr @__gcc_personality_v0 {
  %root = alloca ptr
  %error = alloca swifterror ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root

  store ptr null, ptr %error
  call swiftcc void @fail(ptr swifterror %error)
  %thrown.1 = load ptr, ptr %error
  %right.1 = icmp eq ptr %thrown.1, @code
  br i1 %right.1, label %second, label %lost
second:
  store ptr null, ptr %error
  %four = call swiftcc i64 @maybe(i64 3, ptr swiftself %box, ptr swifterror %error)
  %thrown.2 = load ptr, ptr %error
  %right.2 = icmp eq ptr %thrown.2, @code
  %right.3 = icmp eq i64 %four, 4
  %both.2 = and i1 %right.2, %right.3
  br i1 %both.2, label %third, label %lost
third:
  store ptr null, ptr %error
  %f = load ptr, ptr @pointer
  %five = invoke swiftcc i64 %f(i64 4, ptr swiftself %box, ptr swifterror %error) to label %fourth unwind label %unwound
fourth:
  %thrown.3 = load ptr, ptr %error
  %right.4 = icmp eq ptr %thrown.3, null
  %right.5 = icmp eq i64 %five, 5
  %both.3 = and i1 %right.4, %right.5
  br i1 %both.3, label %fifth, label %lost
fifth:
  %all = call swiftcc { i64, i64, i64, i64 } @forward(ptr swiftself %box, i64 9, ptr swifterror %error)
  %ten = extractvalue { i64, i64, i64, i64 } %all, 3
  %thrown.4 = load ptr, ptr %error
  %right.6 = icmp eq ptr %thrown.4, @code
  %right.7 = icmp eq i64 %ten, 10
  %both.4 = and i1 %right.6, %right.7
  br i1 %both.4, label %sixth, label %lost
sixth:
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 7)
  ret i32 0
lost:
  ret i32 1
unwound:
  %pad = landingpad { ptr, i32 } cleanup
  ret i32 2
}
