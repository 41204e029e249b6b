; Hazard: roots in frames of several modules, each with its own map, of which the second may inline nothing of the first.
; scenario 194.
; WITH: modules/second.ll
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @expect(ptr, i64) "gc-leaf-function"

declare ptr @other(ptr)
declare ptr @once(i64)

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %a = call ptr @other(ptr %box)
  %b = call ptr @once(i64 5)
  call void @expect(ptr %b, i64 5)
  call void @expect(ptr %a, i64 7)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
