; Hazard: a safepoint call that returns an i256.
; Without a thunk a second `call 0` is emitted.
; WITHOUT result-thunks at 0: signal
; WITHOUT result-thunks at 2: signal
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
declare i32 @memcmp(ptr, ptr, i64) "gc-leaf-function"

@sample = global i256 5427754182999196660479889922282245680622030537540154440490721257854443978759
@copy = global i256 zeroinitializer

define i256 @result() noinline gc "refcount" {
  call void @churn()
  %value = load i256, ptr @sample
  ret i256 %value
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %value = call i256 @result()
  store i256 %value, ptr @copy
  call void @expect(ptr %box, i64 7)
  %difference = call i32 @memcmp(ptr @copy, ptr @sample, i64 32)
  %differs = icmp ne i32 %difference, 0
  %status = zext i1 %differs to i32
  ret i32 %status
}
