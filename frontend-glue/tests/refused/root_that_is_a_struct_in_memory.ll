; A C compiler passes structs of more than 16 bytes so.
; REFUSED: in @taken: gcroot of a struct parameter, which the caller has put into memory; copy it into a local variable, and root that
; REFUSED: in @returned: gcroot of a struct that is returned, which lies in the caller's memory; build it in another local variable that is a root, and return a copy of that
%three = type { ptr, ptr, i64 }
declare void @llvm.gcroot(ptr, ptr)
define void @taken(ptr byval(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr null)
  ret void
}
define void @returned(ptr sret(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr null)
  ret void
}
define i32 @main() {
  ret i32 0
}
