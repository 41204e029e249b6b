; Hazard: attributes that move allocas about or change frames: safestack, stack protectors, stack probes, optnone, minsize,
; sanitisers, noreturn, naked leaves, prologue data, red zones.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define void @f0(i64 %value) noinline ssp gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f1(i64 %value) noinline sspstrong gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f2(i64 %value) noinline sspreq gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f3(i64 %value) noinline optnone gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f4(i64 %value) noinline minsize optsize gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f5(i64 %value) noinline "probe-stack"="inline-asm" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f6(i64 %value) noinline sanitize_address gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f7(i64 %value) noinline sanitize_thread gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f8(i64 %value) noinline sanitize_memory gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f9(i64 %value) noinline sanitize_hwaddress gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f10(i64 %value) noinline noredzone gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f11(i64 %value) noinline nounwind willreturn mustprogress gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f12(i64 %value) noinline hot gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f13(i64 %value) noinline cold gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f14(i64 %value) noinline "no-jump-tables"="true" "disable-tail-calls"="true" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f15(i64 %value) noinline strictfp gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f16(i64 %value) noinline convergent gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f17(i64 %value) noinline "frame-pointer"="none" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f18(i64 %value) noinline "frame-pointer"="non-leaf" uwtable(sync) gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f19(i64 %value) noinline "patchable-function-entry"="4" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f20(i64 %value) noinline "function-instrument"="xray-never" nocf_check gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f21(i64 %value) noinline alignstack(64) gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f22(i64 %value) noinline "stackrealign" gc "refcount" {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}
define void @f23(i64 %value) noinline section ".text.other" align 64 gc "refcount" prologue i8 -112 {
  %root = alloca ptr
  %buffer = alloca [64 x i8]
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 %value)
  store ptr %box, ptr %root
  store volatile i8 1, ptr %buffer
  call void @use(ptr %buffer)
  call void @churn()
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %value)
  ret void
}

define void @use(ptr %buffer) noinline "gc-leaf-function" {
  ret void
}

define i64 @naked() naked noinline "gc-leaf-function" {
  call void asm sideeffect "mov $$7, %eax; ret", ""()
  unreachable
}

define void @stop() noinline noreturn gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 8)
  store ptr %box, ptr %root
  call void @churn()
  call void @expect(ptr %box, i64 8)
  %kept = load ptr, ptr %root
  call void @end(ptr %kept)
  unreachable
}

declare void @exit(i32) noreturn
define void @end(ptr %box) noinline noreturn gc "refcount" {
  call void @expect(ptr %box, i64 8)
  call void @churn()
  call void @exit(i32 0)
  unreachable
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @f0(i64 0)
  call void @f1(i64 1)
  call void @f2(i64 2)
  call void @f3(i64 3)
  call void @f4(i64 4)
  call void @f5(i64 5)
  call void @f6(i64 6)
  call void @f7(i64 7)
  call void @f8(i64 8)
  call void @f9(i64 9)
  call void @f10(i64 10)
  call void @f11(i64 11)
  call void @f12(i64 12)
  call void @f13(i64 13)
  call void @f14(i64 14)
  call void @f15(i64 15)
  call void @f16(i64 16)
  call void @f17(i64 17)
  call void @f18(i64 18)
  call void @f19(i64 19)
  call void @f20(i64 20)
  call void @f21(i64 21)
  call void @f22(i64 22)
  call void @f23(i64 23)
  %seven = call i64 @naked()
  %right = icmp eq i64 %seven, 7
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  store ptr null, ptr %root
  call void @stop()
  ret i32 1
}
