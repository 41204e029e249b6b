; A root of few references is settled by inline code: each word is compared with the word that is counted; tag and heap range are one
; comparison, the tag beside a word is a second. Low-bit tags, NaN boxes, references described as such, plain ones whose address is passed on,
; structs of two words, pairs. For a root of five words a function does that, which is called. Words that `trace` reads, those of descriptors not
; defined here, and all in a function that calls setjmp stay with the runtime, which is given the handle of the type.
; OPTIONS: plan=refcount-prompt
; TOTAL-COUNT-6: call void @tally_root_settle
; TOTAL-NOT: call void @tally_root_settle
; CHECK: @tally.types = internal global [3 x { ptr, i32, i32 }] [{ ptr, i32, i32 } { ptr @traced, i32 0, i32 0 }, { ptr, i32, i32 } { ptr @elsewhere, i32 0, i32 0 }, { ptr, i32, i32 } { ptr @low, i32 0, i32 0 }]
; CHECK: define void @of_low_tags
; CHECK: %tally.counted.v = alloca [1 x i64]
; CHECK: %v = alloca i64
; CHECK: load i64, ptr %v
; CHECK: freeze i64
; CHECK: load i64, ptr %tally.counted.v
; CHECK: icmp eq i64
; CHECK: and i64 {{.*}}, -1099511627769
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: and i64 {{.*}}, -8
; CHECK: add i8 {{.*}}, 1
; CHECK: call preserve_mostcc void @tally_count_full
; CHECK: and i64 {{.*}}, -1099511627769
; CHECK: add i8 {{.*}}, -1
; CHECK: call preserve_mostcc void @tally_count_low
; CHECK: store i64 {{.*}}, ptr %tally.counted.v
; CHECK: call void @poke()
; CHECK: store i64 0, ptr %tally.counted.v
; CHECK: add i8 {{.*}}, -1
; CHECK: ret void
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_boxes
; CHECK: and i64 {{.*}}, -1099511627776
; CHECK: icmp eq i64 {{.*}}, -1090715534753792
; CHECK: and i64 {{.*}}, 281474976710655
; CHECK: call void @poke()
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_a_reference_described
; CHECK: and i64 {{.*}}, -1099511627776
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: call void @poke()
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_an_address_passed_on
; CHECK: call void @show
; CHECK: icmp eq i64 {{.*}}, 35184372088832
; CHECK: call void @poke()
; CHECK: load i64, ptr %tally.counted.v
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_nothing_in_the_heap
; CHECK-NOT: add i8
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_two_words
; CHECK: load i64, ptr %v
; CHECK: load i64, ptr %tally.counted.v
; CHECK: add i8 {{.*}}, 1
; CHECK: store i64 {{.*}}, ptr %tally.counted.v
; CHECK: getelementptr inbounds i8, ptr %v, i64 8
; CHECK: getelementptr inbounds i8, ptr %tally.counted.v, i64 8
; CHECK: add i8 {{.*}}, 1
; CHECK: call void @poke()
; CHECK: add i8 {{.*}}, -1
; CHECK: add i8 {{.*}}, -1
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_a_pair
; CHECK: %[[WORD:.*]] = freeze i64
; CHECK: %[[TAG_AT:.*]] = getelementptr inbounds i8, ptr %v, i64 8
; CHECK: load i64, ptr %[[TAG_AT]]
; CHECK: %[[TAG:.*]] = freeze i64
; CHECK: %[[COUNTED_AT:.*]] = getelementptr inbounds i8, ptr %tally.counted.v, i64 8
; CHECK: load i64, ptr %[[COUNTED_AT]]
; CHECK: xor i64 %[[WORD]]
; CHECK: xor i64 %[[TAG]]
; CHECK: or i64
; CHECK: and i64 %[[TAG]], 64
; CHECK: icmp eq i64 {{.*}}, 64
; CHECK: and i64 %[[WORD]], -1099511627776
; CHECK: add i8 {{.*}}, 1
; CHECK: store i64 %[[WORD]], ptr %tally.counted.v
; CHECK: store i64 %[[TAG]]
; CHECK: call void @poke()
; CHECK: add i8 {{.*}}, -1
; CHECK-NOT: tally_root_settle
; CHECK: define void @of_five_words
; CHECK-NOT: icmp
; CHECK: call void @tally.settle.0(ptr %v, ptr %tally.counted.v)
; CHECK: call void @poke()
; CHECK: call void @tally.unsettle.1(ptr %tally.counted.v)
; CHECK: define void @of_traced_words
; CHECK: call void @tally_root_settle(ptr %v, ptr %tally.counted.v, ptr @tally.types, i64 8)
; CHECK: define void @of_another_module
; CHECK: call void @tally_root_settle(ptr %v, ptr %tally.counted.v, ptr getelementptr {{.*}} i64 16), i64 8)
; CHECK: define void @beside_setjmp
; CHECK: call void @tally_root_settle(ptr %v, ptr %tally.counted.v, ptr getelementptr {{.*}} i64 32), i64 8)
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Word\00"
@refs = private constant [2 x i32] [i32 0, i32 8]
@low = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@boxed = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 2, i64 -281474976710656, i64 -1125899906842624, i64 281474976710655, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@far = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 2, i64 -281474976710656, i64 -1125899906842624, i64 1099511627775, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@described = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@two = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 2, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@value = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 5, i64 64, i64 64, i64 -1, i32 1, i32 0, ptr @refs, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@all = private constant [5 x i32] [i32 0, i32 8, i32 16, i32 24, i32 32]
@five = constant %tally_type { i32 1, i32 0, i64 40, i32 0, i32 1, i64 7, i64 0, i64 -8, i32 5, i32 0, ptr @all, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@traced = constant %tally_type { i32 1, i32 0, i64 8, i32 0, i32 3, i64 0, i64 0, i64 0, i32 0, i32 0, ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr @trace, ptr null, ptr null }
@elsewhere = external constant %tally_type
declare void @llvm.gcroot(ptr, ptr)
declare void @trace(ptr, i64, ptr, ptr)
declare i32 @setjmp(ptr) returns_twice nounwind
declare void @poke() nounwind
declare void @show(ptr) nounwind

define void @of_low_tags(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca i64
  call void @llvm.gcroot(ptr %v, ptr @low)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @of_boxes(double %w) nounwind gc "refcount-prompt" {
  %v = alloca double
  call void @llvm.gcroot(ptr %v, ptr @boxed)
  store double %w, ptr %v
  call void @poke()
  ret void
}
define void @of_a_reference_described(ptr %w) nounwind gc "refcount-prompt" {
  %v = alloca { ptr }
  call void @llvm.gcroot(ptr %v, ptr @described)
  store ptr %w, ptr %v
  call void @poke()
  ret void
}
define void @of_an_address_passed_on() nounwind gc "refcount-prompt" {
  %v = alloca ptr
  call void @llvm.gcroot(ptr %v, ptr null)
  call void @show(ptr %v)
  call void @poke()
  ret void
}
define void @of_nothing_in_the_heap(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca i64
  call void @llvm.gcroot(ptr %v, ptr @far)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @of_two_words(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca [2 x i64]
  call void @llvm.gcroot(ptr %v, ptr @two)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @of_a_pair(i64 %w, i64 %tag) nounwind gc "refcount-prompt" {
  %v = alloca { i64, i64 }
  call void @llvm.gcroot(ptr %v, ptr @value)
  %behind = getelementptr { i64, i64 }, ptr %v, i32 0, i32 1
  store i64 %w, ptr %v
  store i64 %tag, ptr %behind
  call void @poke()
  ret void
}
define void @of_five_words(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca [5 x i64]
  call void @llvm.gcroot(ptr %v, ptr @five)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @of_traced_words(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca i64
  call void @llvm.gcroot(ptr %v, ptr @traced)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @of_another_module(i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca i64
  call void @llvm.gcroot(ptr %v, ptr @elsewhere)
  store i64 %w, ptr %v
  call void @poke()
  ret void
}
define void @beside_setjmp(ptr %buffer, i64 %w) nounwind gc "refcount-prompt" {
  %v = alloca i64
  call void @llvm.gcroot(ptr %v, ptr @low)
  store i64 %w, ptr %v
  %back = call i32 @setjmp(ptr %buffer)
  call void @poke()
  ret void
}
