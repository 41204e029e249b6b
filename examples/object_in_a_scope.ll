; An object in a scope: the first fragment of LLVM's "Garbage Collection with LLVM", made whole.
;
; `{ Object X = new Object(); use(X); }` declares a root for X, clears it when the scope is entered, and clears it again when the
; scope is left, so that the object dies there and not when the function returns. The scope is entered a thousand times; the
; collection in between frees what the earlier rounds left.
;
;     tally run examples/object_in_a_scope.ll

%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }

; class Object { Object link; long number; }: 16 bytes, a reference at offset 0.
@Object.name = private constant [7 x i8] c"Object\00"
@Object.refs = private constant [1 x i32] [i32 0]
@Object = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @Object.refs, i64 0, i64 0, ptr null, ptr @Object.name, ptr null, ptr null, ptr null, ptr null }

@line = private constant [22 x i8] c"sum of numbers = %ld\0A\00"

declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_safepoint()
declare i32 @printf(ptr, ...)

define i64 @scope(i64 %number) gc "refcount" {
Entry:
  ; In the entry block for the function, allocate the stack space for X, which is an LLVM pointer.
  %X = alloca ptr

  ; Tell LLVM that the stack space is a stack root. The object carries its type in its header, so the metadata is null.
  call void @llvm.gcroot(ptr %X, ptr null)
  br label %CodeBlock

  ; "CodeBlock" is the block corresponding to the start of the scope above.
CodeBlock:
  ; Java null-initializes pointers.
  store ptr null, ptr %X

  %new = call ptr @tally_new(ptr @Object)
  store ptr %new, ptr %X

  ; X.link = X: a garbage cycle as soon as the scope is left.
  call void @llvm.gcwrite(ptr %new, ptr %new, ptr %new)
  %number.slot = getelementptr i8, ptr %new, i64 8
  store i64 %number, ptr %number.slot

  ; The safepoint may collect; X is a root, so the object outlives it.
  call void @tally_safepoint()
  %kept = load ptr, ptr %X
  %kept.slot = getelementptr i8, ptr %kept, i64 8
  %read = load i64, ptr %kept.slot

  ; As the pointer goes out of scope, store a null value into it, to indicate that the value is no longer live.
  store ptr null, ptr %X
  ret i64 %read
}

define i32 @main() gc "refcount" {
entry:
  br label %loop

loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %loop ]
  %number = call i64 @scope(i64 %i)
  %sum.next = add i64 %sum, %number
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 1001
  br i1 %done, label %end, label %loop

end:
  %printed = call i32 (ptr, ...) @printf(ptr @line, i64 %sum.next)
  ret i32 0
}
