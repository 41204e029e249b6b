; A struct that a C compiler returns so is a root, if nothing else can lead to its memory before the return.
; REFUSED: in @shared: gcroot of a struct that is returned in memory that other code may see; mark the parameter noalias, or build the struct in another alloca that is a root, and return a copy of that
; REFUSED: in @within: gcroot of a struct that is returned and holds its own address, which is another when it has been returned; build the struct in another alloca that is a root, and return a copy of that
; REFUSED: in @passed_on: gcroot of a struct that is returned and passed in part to a guaranteed tail call; build the struct in another alloca that is a root, and return a copy of that
; REFUSED: in @wide: gcroot of an aggregate without a descriptor; pass a type descriptor as second argument: it says which words of the slot are references
%three = type { ptr, ptr, i64 }
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@three.refs = private constant [2 x i32] [i32 0, i32 8]
@three = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @three.refs,
    i64 0, i64 0, ptr null, ptr null, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
define void @shared(ptr sret(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  ret void
}
define void @within(ptr noalias sret(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  %at = getelementptr %three, ptr %p, i64 0, i32 2
  store ptr %p, ptr %at
  ret void
}
define void @passed_on(ptr noalias sret(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr @three)
  %at = getelementptr %three, ptr %p, i64 0, i32 1
  musttail call void @passed_on(ptr noalias sret(%three) align 8 %at)
  ret void
}
define void @wide(ptr byval(%three) align 8 %p) gc "refcount" {
  call void @llvm.gcroot(ptr %p, ptr null)
  ret void
}
define i32 @main() {
  ret i32 0
}
