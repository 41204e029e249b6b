; Hazard: an alloca rooted twice, and one in a loop, which is a new, empty slot in each round.
; scenario 183.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  call void @llvm.gcroot(ptr %r, ptr null)
  %b = call ptr @box(i64 4)
  store ptr %b, ptr %r
  br label %x
x:
  %q = alloca ptr
  call void @llvm.gcroot(ptr %q, ptr null)
  %o = load ptr, ptr %q
  %c = call ptr @box(i64 5)
  store ptr %c, ptr %q
  call void @churn()
  %d = load ptr, ptr %q
  call void @expect(ptr %d, i64 5)
  %n = icmp eq ptr %o, null
  br i1 %n, label %y, label %x
y:
  %k = load ptr, ptr %r
  call void @expect(ptr %k, i64 4)
  ret i32 0
}
