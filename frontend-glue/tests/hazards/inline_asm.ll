; Hazard: inline asm that clobbers every register but the frame's, beside live roots; it is a leaf and carries no bundle.
; scenario 181.
; Without the roots' names the boxes are lost.
; WITHOUT root-names at 0: lost
; WITHOUT root-names at 2: lost
declare void @llvm.gcroot(ptr, ptr)
declare ptr @box(i64)
declare void @churn()
declare void @expect(ptr, i64) "gc-leaf-function"

define i32 @main() gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %box = call ptr @box(i64 7)
  store ptr %box, ptr %root
  %x = call i64 asm sideeffect "mov $$41, $0; inc $0", "=r,~{rbx},~{r12},~{r13},~{r14},~{r15},~{memory},~{flags}"()
  call void @churn()
  call void asm sideeffect "push %rax; pop %rax", "~{rax},~{rcx},~{rdx},~{rsi},~{rdi},~{r8},~{r9},~{r10},~{r11},~{memory}"()
  callbr void asm sideeffect "# ${0:l}", "!i"() to label %fall [label %other]
other:
  br label %fall
fall:
  call void @churn()
  %right = icmp eq i64 %x, 42
  br i1 %right, label %go_on, label %wrong
wrong:
  ret i32 1
go_on:
  call void @expect(ptr %box, i64 7)
  ret i32 0
}
