; Hazard: a root that an undefined value is stored to holds any bits: the collector takes them for an object.
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
define i32 @main() gc "refcount" {
  %root = alloca ptr
  %pair = alloca [2 x ptr]
  call void @llvm.gcroot(ptr %root, ptr null)
  call void @llvm.gcroot(ptr %pair, ptr @two)
  store ptr undef, ptr %root
  call void @churn()
  %box = call ptr @box(i64 5)
  store ptr %box, ptr %root
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr poison, ptr %second
  call void @churn()
  call void @expect(ptr %box, i64 5)
  store ptr poison, ptr %root
  store [2 x ptr] undef, ptr %pair
  call void @churn()
  ret i32 0
}
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@two.name = private constant [4 x i8] c"two\00"
@two.refs = private constant [2 x i32] [i32 0, i32 8]
@two = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @two.refs, i64 0, i64 0, ptr null, ptr @two.name, ptr null, ptr null, ptr null, ptr null }
