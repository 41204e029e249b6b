; scenario 186
; A loop without a safepoint may keep references in registers only. The lowering must not put a poll there.
; CHECK: define void @unrooted_walk
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @leaf_by_declaration
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @rooted_walk
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @derived_pointer_of_a_rooted_base
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @root_was_overwritten
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @variable_of_unoptimised_c
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @tagged_word
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @number
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @hidden_in_a_struct
; CHECK-NOT: tally_safepoint_slow
; CHECK: define i64 @hidden_in_a_union
; CHECK-NOT: tally_safepoint_slow
; CHECK: define i64 @hidden_in_an_array_of_words
; CHECK-NOT: tally_safepoint_slow
; CHECK: define void @hidden_from_view
; CHECK-NOT: tally_safepoint_slow
; CHECK: define i64 @words_in_registers
; CHECK-NOT: tally_safepoint_slow
; CHECK: define i64 @nan_box_in_a_double
; CHECK-NOT: tally_safepoint_slow
; CHECK: define i64 @two_words_in_one
; CHECK-NOT: tally_safepoint_slow
; CHECK: define double @double_that_is_a_number
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define i32 @array_of_numbers
; CHECK: call void @tally_safepoint_slow() [ "deopt"(i64 {{-?[0-9]+}}, ptr %r) ]
; CHECK: define void @last
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare void @tally_gcwrite_i64(i64, ptr, ptr)
define void @unrooted_walk(ptr %list) gc "refcount" {
entry:
  br label %loop
loop:
  %p = phi ptr [ %list, %entry ], [ %next, %loop ]
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %field = getelementptr i8, ptr %p, i64 8
  %next = call ptr @llvm.gcread(ptr %p, ptr %field)
  %end = icmp eq ptr %next, null
  br i1 %end, label %done, label %loop
done:
  ret void
}
define void @leaf_by_declaration(i32 %n) "gc-leaf-function" gc "refcount" {
entry:
  br label %loop
loop:
  %p = load ptr, ptr @somewhere
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  ret void
}
@somewhere = global ptr null
@again = global i1 false
define void @rooted_walk(ptr %list) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %list, ptr %r
  br label %loop
loop:
  %p = phi ptr [ %list, %entry ], [ %next, %loop ]
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %field = getelementptr i8, ptr %p, i64 8
  %next = call ptr @llvm.gcread(ptr %p, ptr %field)
  store ptr %next, ptr %r
  %end = icmp eq ptr %next, null
  br i1 %end, label %done, label %loop
done:
  ret void
}
define void @derived_pointer_of_a_rooted_base(ptr %array, i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  %cursor = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %array, ptr %r
  %first = getelementptr i8, ptr %array, i64 8
  store ptr %first, ptr %cursor
  br label %loop
loop:
  %slot = load ptr, ptr %cursor
  %base = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %base, ptr %slot)
  %next = getelementptr i8, ptr %slot, i64 8
  store ptr %next, ptr %cursor
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @root_was_overwritten(ptr %array, ptr %other) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %array, ptr %r
  br label %loop
loop:
  call void @llvm.gcwrite(ptr null, ptr %array, ptr %array)
  store ptr %other, ptr %r
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @variable_of_unoptimised_c(ptr %list) gc "refcount" {
entry:
  %p = alloca ptr
  store ptr %list, ptr %p
  br label %loop
loop:
  %here = load ptr, ptr %p
  call void @llvm.gcwrite(ptr null, ptr %here, ptr %here)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @tagged_word(ptr %o, i64 %word, i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = load ptr, ptr %r
  call void @tally_gcwrite_i64(i64 %word, ptr %p, ptr %p)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @number(ptr %o, i64 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = load ptr, ptr %r
  call void @tally_gcwrite_i64(i64 %i, ptr %p, ptr %p)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @hidden_in_a_struct(ptr %o) gc "refcount" {
entry:
  %r = alloca ptr
  %s = alloca { ptr, i32 }
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  store ptr %o, ptr %s
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %q = load ptr, ptr %s
  ret void
}
define i64 @hidden_in_a_union(ptr %o) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %u = alloca { i64 }
  %q = call ptr @llvm.gcread(ptr %o, ptr %o)
  store ptr %q, ptr %u
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %found = load ptr, ptr %u
  %x = load i64, ptr %found
  ret i64 %x
}
define i64 @hidden_in_an_array_of_words(ptr %o) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %words = alloca [2 x i64]
  %word = load i64, ptr %o
  store i64 %word, ptr %words
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %second = getelementptr [2 x i64], ptr %words, i64 0, i64 1
  %found = load i64, ptr %second
  %object = inttoptr i64 %found to ptr
  %x = load i64, ptr %object
  ret i64 %x
}
declare void @take(ptr)
define void @hidden_from_view(ptr %o) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %s = alloca { i64, i32 }
  %q = call ptr @llvm.gcread(ptr %o, ptr %o)
  store ptr %q, ptr %s
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  call void @take(ptr %s)
  ret void
}
define i64 @words_in_registers(ptr %o, { i64, i64 } %both) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %word = extractvalue { i64, i64 } %both, 1
  %object = inttoptr i64 %word to ptr
  %x = load i64, ptr %object
  ret i64 %x
}
define i64 @nan_box_in_a_double(ptr %o, double %boxed) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %word = bitcast double %boxed to i64
  %bits = and i64 %word, 281474976710655
  %object = inttoptr i64 %bits to ptr
  %x = load i64, ptr %object
  ret i64 %x
}
define i64 @two_words_in_one(ptr %o, i64 %one, i64 %other) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %low = zext i64 %one to i128
  %high = zext i64 %other to i128
  %shifted = shl i128 %high, 64
  %both = or i128 %low, %shifted
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %back = lshr i128 %both, 64
  %word = trunc i128 %back to i64
  %object = inttoptr i64 %word to ptr
  %x = load i64, ptr %object
  ret i64 %x
}
define double @double_that_is_a_number(ptr %o, i32 %n) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %d = sitofp i32 %n to double
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %q = load ptr, ptr %r
  %word = bitcast double %d to i64
  call void @tally_gcwrite_i64(i64 %word, ptr %q, ptr %q)
  ret double %d
}
define i32 @array_of_numbers(ptr %o) gc "refcount" {
entry:
  %r = alloca ptr
  call void @llvm.gcroot(ptr %r, ptr null)
  store ptr %o, ptr %r
  %counts = alloca [4 x i64]
  %text = alloca [8 x i8]
  call void @take(ptr %text)
  store i64 5, ptr %counts
  br label %loop
loop:
  %p = load ptr, ptr %r
  call void @llvm.gcwrite(ptr null, ptr %p, ptr %p)
  %more = load volatile i1, ptr @again
  br i1 %more, label %loop, label %done
done:
  %third = getelementptr [4 x i64], ptr %counts, i64 0, i64 2
  %count = load i64, ptr %third
  %small = trunc i64 %count to i32
  ret i32 %small
}
define void @last() {
  ret void
}
