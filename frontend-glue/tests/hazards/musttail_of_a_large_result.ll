; Hazard: a guaranteed tail call that returns what a bundled call may not: it must stay bare, without a thunk.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define { i64, i64, i64 } @make(i64 %value) noinline gc "refcount" {
  call void @churn()
  %result = insertvalue { i64, i64, i64 } zeroinitializer, i64 %value, 2
  ret { i64, i64, i64 } %result
}

define { i64, i64, i64 } @pass_on(i64 %value) gc "refcount" {
  %result = musttail call { i64, i64, i64 } @make(i64 %value)
  ret { i64, i64, i64 } %result
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %result = call { i64, i64, i64 } @pass_on(i64 5)
  %member = extractvalue { i64, i64, i64 } %result, 2
  %right = icmp eq i64 %member, 5
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
