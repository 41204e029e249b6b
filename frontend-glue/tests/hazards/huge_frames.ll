; Hazard: frames of more than 64 KiB, with the slots at either end.
; scenario 189.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@size = global i64 100

define void @down(i64 %depth) noinline gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %memory = alloca [300000 x i8]
  %far = alloca ptr
  call void @llvm.gcroot(ptr %far, ptr null)
  %more = alloca [300000 x i8]
  %box = call ptr @box(i64 %depth)
  store ptr %box, ptr %root
  store ptr %box, ptr %far
  call void @use(ptr %memory)
  call void @use(ptr %more)
  %bottom = icmp eq i64 %depth, 0
  br i1 %bottom, label %collect, label %inner
collect:
  call void @churn()
  br label %done
inner:
  %less = sub i64 %depth, 1
  call void @down(i64 %less)
  br label %done
done:
  call void @expect(ptr %box, i64 %depth)
  %kept = load ptr, ptr %root
  call void @expect(ptr %kept, i64 %depth)
  ret void
}

define void @use(ptr %memory) noinline "gc-leaf-function" {
  store volatile i8 85, ptr %memory
  ret void
}

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  call void @down(i64 10)
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
