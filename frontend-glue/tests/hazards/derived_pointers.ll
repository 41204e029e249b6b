; Hazard: only a derived pointer is used after the call, through arithmetic, integers, selects and a copy by memcpy: the base must stay.
; scenario 182.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@offset = global i64 8

@text = constant [5 x i8] c"lost\00"
declare i32 @printf(ptr, ...) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %offset = load i64, ptr @offset
  %inside = getelementptr i8, ptr %box, i64 %offset
  %bits = ptrtoint ptr %inside to i64
  %odd = xor i64 %bits, 1
  %plain = alloca ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %plain, ptr %root, i64 8, i1 false)
  call void @churn()
  %even = xor i64 %odd, 1
  %back = inttoptr i64 %even to ptr
  %value = load i64, ptr %back
  %right = icmp eq i64 %value, 7
  br i1 %right, label %copy, label %wrong
wrong:
  %printed = call i32 (ptr, ...) @printf(ptr @text)
  ret i32 1
copy:
  %copied = load ptr, ptr %plain
  call void @expect(ptr %copied, i64 7)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
