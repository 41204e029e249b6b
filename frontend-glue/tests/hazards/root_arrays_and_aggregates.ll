; Hazard: roots that are arrays and structs, on whose words the descriptor decides; -O2 would take them apart.
; scenario 163.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@Three.name = private constant [6 x i8] c"Three\00"
@Three.refs = private constant [3 x i32] [i32 0, i32 8, i32 16]
@Three = constant %tally_type { i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 3, i32 0, ptr @Three.refs,
    i64 0, i64 0, ptr null, ptr @Three.name, ptr null, ptr null, ptr null, ptr null }
@Tagged.name = private constant [7 x i8] c"Tagged\00"
@Tagged.refs = private constant [2 x i32] [i32 8, i32 24]
@Tagged = constant %tally_type { i32 1, i32 0, i64 32, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @Tagged.refs,
    i64 0, i64 0, ptr null, ptr @Tagged.name, ptr null, ptr null, ptr null, ptr null }

define void @shift(i64 %base) noinline gc "refcount" {
  %array = alloca [3 x ptr]
  %tagged = alloca { i64, ptr, { double, ptr } }
  call void @llvm.gcroot(ptr %array, ptr @Three)
  call void @llvm.gcroot(ptr %tagged, ptr @Tagged)
  store i64 -3, ptr %tagged
  %number = getelementptr { i64, ptr, { double, ptr } }, ptr %tagged, i64 0, i32 2, i32 0
  store double 1.5, ptr %number
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %value = add i64 %base, %i
  %box = call ptr @box(i64 %value)
  %at = getelementptr [3 x ptr], ptr %array, i64 0, i64 %i
  store ptr %box, ptr %at
  call void @churn()
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 3
  br i1 %more, label %loop, label %copy
copy:
  %all = load [3 x ptr], ptr %array
  %first = extractvalue [3 x ptr] %all, 0
  %third = extractvalue [3 x ptr] %all, 2
  %a = getelementptr { i64, ptr, { double, ptr } }, ptr %tagged, i64 0, i32 1
  %b = getelementptr { i64, ptr, { double, ptr } }, ptr %tagged, i64 0, i32 2, i32 1
  store ptr %first, ptr %a
  store ptr %third, ptr %b
  store [3 x ptr] zeroinitializer, ptr %array
  call void @churn()
  %whole = load { i64, ptr, { double, ptr } }, ptr %tagged
  %a.kept = extractvalue { i64, ptr, { double, ptr } } %whole, 1
  %b.kept = extractvalue { i64, ptr, { double, ptr } } %whole, 2, 1
  call void @expect(ptr %a.kept, i64 %base)
  %last = add i64 %base, 2
  call void @expect(ptr %b.kept, i64 %last)
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @shift(i64 10)
  call void @shift(i64 20)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
