; Hazard: roots that are vectors and wide integers, written in halves, read as integers or atomically, copied with memcpy, chosen by phi and select.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
; WRITTEN ROOTS: vectors of references
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

@Two.refs = private constant [2 x i32] [i32 0, i32 8]
@Two.name = private constant [4 x i8] c"Two\00"
@Two = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @Two.refs,
    i64 0, i64 0, ptr null, ptr @Two.name, ptr null, ptr null, ptr null, ptr null }
@One.refs = private constant [1 x i32] [i32 8]
@One = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @One.refs,
    i64 0, i64 0, ptr null, ptr @Two.name, ptr null, ptr null, ptr null, ptr null }
define void @vec(i64 %v) noinline gc "refcount" {
  %r = alloca <2 x ptr>
  call void @llvm.gcroot(ptr %r, ptr @Two)
  %box = call ptr @box(i64 %v)
  %one = insertelement <2 x ptr> zeroinitializer, ptr %box, i64 1
  store <2 x ptr> %one, ptr %r
  call void @churn()
  %k = load <2 x ptr>, ptr %r
  %k1 = extractelement <2 x ptr> %k, i64 1
  call void @churn()
  call void @expect(ptr %k1, i64 %v)
  ret void
}
define void @wide(i64 %v) noinline gc "refcount" {
  %r = alloca i128
  call void @llvm.gcroot(ptr %r, ptr @One)
  %box = call ptr @box(i64 %v)
  %w = ptrtoint ptr %box to i128
  %h = shl i128 %w, 64
  %t = or i128 %h, 3
  store i128 %t, ptr %r
  call void @churn()
  %k = load i128, ptr %r
  %m = lshr i128 %k, 64
  %p = inttoptr i128 %m to ptr
  call void @churn()
  call void @expect(ptr %p, i64 %v)
  ret void
}
define void @punned(i64 %v) noinline gc "refcount" {
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  %box = call ptr @box(i64 %v)
  %w = ptrtoint ptr %box to i64
  %lo = trunc i64 %w to i32
  %hs = lshr i64 %w, 32
  %hi = trunc i64 %hs to i32
  %top = getelementptr i8, ptr %r, i64 4
  store i32 %lo, ptr %r
  store i32 %hi, ptr %top
  call void @churn()
  %k = load i64, ptr %r
  call void @churn()
  %p = inttoptr i64 %k to ptr
  call void @expect(ptr %p, i64 %v)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @copied(i64 %v) noinline gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  %c = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %a
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 8, i1 false)
  call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 false)
  call void @churn()
  call void @llvm.memmove.p0.p0.i64(ptr %c, ptr %b, i64 8, i1 false)
  call void @churn()
  %k = load ptr, ptr %c
  call void @expect(ptr %k, i64 %v)
  call void @llvm.memset.p0.i64(ptr %b, i8 0, i64 8, i1 false)
  call void @expect(ptr %k, i64 %v)
  ret void
}
define void @chosen(i64 %v, i1 %c) noinline gc "refcount" {
  %a = alloca ptr
  %b = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  call void @llvm.gcroot(ptr %b, ptr null)
  %box = call ptr @box(i64 %v)
  %s = select i1 %c, ptr %a, ptr %b
  store ptr %box, ptr %s
  call void @churn()
  br i1 %c, label %x, label %y
x:
  br label %y
y:
  %p = phi ptr [ %a, %x ], [ %b, %0 ]
  %k = load ptr, ptr %p
  call void @churn()
  call void @expect(ptr %k, i64 %v)
  ret void
}
define void @read_atomically(i64 %v) noinline gc "refcount" {
  %a = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %a
  call void @churn()
  %k = load atomic ptr, ptr %a seq_cst, align 8
  %l = load volatile ptr, ptr %a
  call void @churn()
  call void @expect(ptr %k, i64 %v)
  call void @expect(ptr %l, i64 %v)
  ret void
}
define void @zero(i64 %v) noinline gc "refcount" {
  %z = alloca [0 x ptr]
  %a = alloca ptr
  call void @llvm.gcroot(ptr %a, ptr null)
  %box = call ptr @box(i64 %v)
  store ptr %box, ptr %a
  call void @churn()
  %k = load ptr, ptr %a
  call void @expect(ptr %k, i64 %v)
  ret void
}
define i32 @main() gc "refcount" {
  call void @vec(i64 1)
  call void @wide(i64 2)
  call void @punned(i64 3)
  call void @copied(i64 4)
  call void @chosen(i64 5, i1 true)
  call void @chosen(i64 6, i1 false)
  call void @read_atomically(i64 7)
  call void @zero(i64 8)
  ret i32 0
}
