; Hazard: structs of references that go through sret, byval and a result too wide for registers.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
; WRITTEN ROOTS: a struct is returned in memory that is not `noalias`
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

%pair = type { ptr, i64, ptr, i64, i64 }
@Pair.refs = private constant [2 x i32] [i32 0, i32 16]
@Pair.name = private constant [5 x i8] c"Pair\00"
@Pair = constant %tally_type { i32 1, i32 0, i64 40, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @Pair.refs,
    i64 0, i64 0, ptr null, ptr @Pair.name, ptr null, ptr null, ptr null, ptr null }
define void @make(ptr sret(%pair) %out, i64 %v) noinline gc "refcount" {
  %t = alloca %pair
  call void @llvm.gcroot(ptr %t, ptr @Pair)
  %a = call ptr @box(i64 %v)
  store ptr %a, ptr %t
  %w = add i64 %v, 1
  %b = call ptr @box(i64 %w)
  %at = getelementptr %pair, ptr %t, i64 0, i32 2
  store ptr %b, ptr %at
  %all = load %pair, ptr %t
  store %pair %all, ptr %out
  ret void
}
define void @take(ptr byval(%pair) %in, i64 %v) noinline gc "refcount" {
  %t = alloca %pair
  call void @llvm.gcroot(ptr %t, ptr @Pair)
  %all = load %pair, ptr %in
  store %pair %all, ptr %t
  call void @churn()
  %a = extractvalue %pair %all, 0
  %b = extractvalue %pair %all, 2
  call void @expect(ptr %a, i64 %v)
  %w = add i64 %v, 1
  call void @expect(ptr %b, i64 %w)
  ret void
}
define %pair @by_value(i64 %v) noinline gc "refcount" {
  %t = alloca %pair
  call void @llvm.gcroot(ptr %t, ptr @Pair)
  call void @make(ptr sret(%pair) %t, i64 %v)
  call void @churn()
  %all = load %pair, ptr %t
  ret %pair %all
}
define i32 @main() gc "refcount" {
  %t = alloca %pair
  call void @llvm.gcroot(ptr %t, ptr @Pair)
  call void @make(ptr sret(%pair) %t, i64 10)
  call void @churn()
  call void @take(ptr byval(%pair) %t, i64 10)
  %v = call %pair @by_value(i64 20)
  store %pair %v, ptr %t
  call void @churn()
  call void @take(ptr byval(%pair) %t, i64 20)
  ret i32 0
}
