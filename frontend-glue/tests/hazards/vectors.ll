; Hazard: vectors live across safepoints, wider than a register too: they are spilled beside the slots, aligned more than the stack.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

@in = global <16 x float> <float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0, float 8.0, float 9.0, float 10.0, float 11.0, float 12.0, float 13.0, float 14.0, float 15.0, float 16.0>
@wide = global i128 170141183460469231731687303715884105727
declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>)

define i32 @main() #0 gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %v = load <16 x float>, ptr @in
  %w = load i128, ptr @wide
  %u = fadd <16 x float> %v, %v
  call void @churn()
  %d = fsub <16 x float> %u, %v
  call void @churn()
  %sum = call float @llvm.vector.reduce.fadd.v16f32(float 0.0, <16 x float> %d)
  %w2 = add i128 %w, 1
  %negative = icmp slt i128 %w2, 0
  %is = fcmp oeq float %sum, 136.0
  %right = and i1 %negative, %is
  call void @expect(ptr %box, i64 7)
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}

attributes #0 = { "min-legal-vector-width"="512" }
