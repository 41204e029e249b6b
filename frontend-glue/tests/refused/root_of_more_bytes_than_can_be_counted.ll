; REFUSED: in @first: gcroot of an alloca whose size is not constant
; REFUSED: in @second: gcroot of an alloca of more than 1 GiB, which no stack holds
; REFUSED: in @third: gcroot of an alloca of more than 1 GiB, which no stack holds
declare void @llvm.gcroot(ptr, ptr)
@words = external constant i8
define void @first() gc "refcount" {
  %root = alloca ptr, i64 -1
  call void @llvm.gcroot(ptr %root, ptr @words)
  ret void
}
define void @second() gc "refcount" {
  %root = alloca [2305843009213693953 x ptr]
  call void @llvm.gcroot(ptr %root, ptr @words)
  ret void
}
define void @third() gc "refcount" {
  %root = alloca [1000000000 x ptr]
  call void @llvm.gcroot(ptr %root, ptr @words)
  ret void
}
define i32 @main() gc "refcount" {
  ret i32 0
}
