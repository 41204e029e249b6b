; Turns a binary search tree into a list in order, by rotations only (Day 1976: the first half of balancing a tree in place).
;
; A module of hand-written IR in a program of C: the descriptor of Word is defined in counts.c, so it is an external constant here,
; and an allocation is a plain call. The loop writes references and makes no call: the list is in the root `first`, and `done` and
; `rest` may stay in registers.

%Word = type { ptr, ptr, ptr, i64 }

@tally_type_Word = external constant [128 x i8]

declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)

define ptr @flatten(ptr %tree) gc "refcount" {
entry:
  %tree.root = alloca ptr
  %first.root = alloca ptr
  call void @llvm.gcroot(ptr %tree.root, ptr null)
  call void @llvm.gcroot(ptr %first.root, ptr null)
  store ptr %tree, ptr %tree.root
  store ptr null, ptr %first.root

  ; A word in front of the list, so that there always is one whose `more` is to be set.
  %first = call ptr @tally_new(ptr @tally_type_Word)
  store ptr %first, ptr %first.root
  %first.more = getelementptr %Word, ptr %first, i64 0, i32 1
  %tree.kept = load ptr, ptr %tree.root
  store ptr null, ptr %tree.root
  call void @llvm.gcwrite(ptr %tree.kept, ptr %first, ptr %first.more)
  br label %round

; Behind `done` everything is a list already; `rest`, which is done's `more`, is still a tree.
round:
  %done = phi ptr [ %first, %entry ], [ %rest, %advance ], [ %done, %rotate ]
  %rest = phi ptr [ %tree.kept, %entry ], [ %rest.next, %advance ], [ %left, %rotate ]
  %end = icmp eq ptr %rest, null
  br i1 %end, label %return, label %look

look:
  %rest.less = getelementptr %Word, ptr %rest, i64 0, i32 0
  %rest.more = getelementptr %Word, ptr %rest, i64 0, i32 1
  %left = call ptr @llvm.gcread(ptr %rest, ptr %rest.less)
  %in.order = icmp eq ptr %left, null
  br i1 %in.order, label %advance, label %rotate

advance:
  %rest.next = call ptr @llvm.gcread(ptr %rest, ptr %rest.more)
  br label %round

; `left` goes up into the place of `rest`, which becomes its `more`.
rotate:
  %left.more = getelementptr %Word, ptr %left, i64 0, i32 1
  %between = call ptr @llvm.gcread(ptr %left, ptr %left.more)
  call void @llvm.gcwrite(ptr %between, ptr %rest, ptr %rest.less)
  call void @llvm.gcwrite(ptr %rest, ptr %left, ptr %left.more)
  %done.more = getelementptr %Word, ptr %done, i64 0, i32 1
  call void @llvm.gcwrite(ptr %left, ptr %done, ptr %done.more)
  br label %round

return:
  %front = load ptr, ptr %first.root
  %front.more = getelementptr %Word, ptr %front, i64 0, i32 1
  %list = call ptr @llvm.gcread(ptr %front, ptr %front.more)
  ret ptr %list
}
