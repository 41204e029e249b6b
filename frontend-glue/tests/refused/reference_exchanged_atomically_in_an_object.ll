; REFUSED: in @main: a reference is stored by an atomic exchange to an object, at offset 0 of @Node, which is a reference
declare ptr @tally_new(ptr)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@Node.name = private constant [5 x i8] c"Node\00"
@Node.refs = private constant [1 x i32] [i32 0]
@Node = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Node.refs, i64 0, i64 0, ptr null, ptr @Node.name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @tally_new(ptr @Node)
  store ptr %object, ptr %root
  %other = call ptr @tally_new(ptr @Node)
  %before = atomicrmw xchg ptr %object, ptr %other seq_cst
  ret i32 0
}
