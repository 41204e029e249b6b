; Where every pointer is a root that nobody wrote, counts move as they do between roots that a program writes: a phi is the content
; of the root that its operands share, an argument is a reference if every call passes one, and a leaf that stands in place of its
; call needs no root for its arguments.
;
; OPTIONS: plan=refcount-prompt patterns=all roots=auto operations

declare ptr @tally_new(ptr)
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @work(ptr) nounwind

@Node = external constant i8

; The root holds the phi where the turn begins: the drain need not protect it, and what is written takes its count.
;
; IR-LABEL: define void @cursor(
; IR: [[ROOT:%.*]] = alloca ptr{{.*}}!tally.inferred
; IR: turn:
; IR-NOT: store ptr
; IR: call void @llvm.gcwrite(ptr null, ptr %node, ptr %node)
; IR: call void @tally.count.own(ptr {{%.*}}, i32 0)
; IR-NEXT: call void (...) @tally.count.drain(){{$}}
; IR-NEXT: call void @work(ptr %node)
define void @cursor(ptr %first, i64 %turns) gc "refcount" {
entry:
  %begin = load ptr, ptr %first
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %more, %on ]
  %node = phi ptr [ %begin, %entry ], [ %next, %on ]
  call void @llvm.gcwrite(ptr null, ptr %node, ptr %node)
  call void @work(ptr %node)
  br label %on
on:
  %field = getelementptr i8, ptr %first, i64 8
  %next = load ptr, ptr %field
  %more = add i64 %i, 1
  %enough = icmp eq i64 %more, %turns
  br i1 %enough, label %done, label %turn
done:
  ret void
}

; Where nothing was taken the root holds null already: the phi is not stored again, and no count changes at the merge.
;
; IR-LABEL: define void @perhaps(
; IR: call void @tally.count.keep(ptr %packet)
; IR: call void @tally.count.take(ptr %packet, i32 0)
; IR: merge:
; IR-NOT: store ptr
; IR-NOT: call void @tally.count.drop
; IR: call void @work(ptr %given)
; IR: call void @tally.count.drop
define void @perhaps(ptr %queue, i1 %any) gc "refcount" {
entry:
  br i1 %any, label %take, label %merge
take:
  %packet = load ptr, ptr %queue
  call void @llvm.gcwrite(ptr null, ptr %queue, ptr %queue)
  br label %merge
merge:
  %given = phi ptr [ %packet, %take ], [ null, %entry ]
  call void @work(ptr %given)
  ret void
}

; On the way on which the merge takes null the root still holds what is used on the other: the merge is stored.
;
; IR-LABEL: define void @not_emptied(
; IR: merge:
; IR: store ptr %given, ptr
define void @not_emptied(ptr %queue, i1 %any) gc "refcount" {
entry:
  %packet = load ptr, ptr %queue
  br i1 %any, label %use, label %merge
use:
  call void @work(ptr null)
  br label %merge
merge:
  %given = phi ptr [ %packet, %use ], [ null, %entry ]
  call void @work(ptr %given)
  ret void
}

; A root that holds the merge on one way and another reference on the other does not keep it.
;
; IR-LABEL: define void @another_on_one_way(
; IR: merge:
; IR: call void (...) @tally.count.drain(ptr %merged)
; IR-NEXT: call void @work(ptr %merged)
define void @another_on_one_way(ptr %list, ptr %other, i1 %which) gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  br i1 %which, label %more, label %merge
more:
  store ptr null, ptr %root
  store ptr %other, ptr %root
  br label %merge
merge:
  %merged = phi ptr [ %list, %entry ], [ %list, %more ]
  call void @llvm.gcwrite(ptr null, ptr %list, ptr %list)
  call void @work(ptr %merged)
  %after = load ptr, ptr %root
  call void @work(ptr %after)
  ret void
}

; Both callers pass what they keep in a root, or got as such an argument: what is returned is a reference, and brings a count.
;
; IR-LABEL: define internal ptr @same_or_new(
; IR: call void @tally.count.increment(ptr %node)
; IR: call void @tally.count.result(ptr %node)
define internal ptr @same_or_new(ptr %node, i1 %new) gc "refcount" {
entry:
  br i1 %new, label %make, label %same
same:
  ret ptr %node
make:
  %made = call ptr @tally_new(ptr @Node)
  ret ptr %made
}

; IR-LABEL: define void @passes_references(
; IR: [[RESULT:%.*]] = call ptr @same_or_new
; IR: call void @tally.count.spend(ptr [[RESULT]])
define void @passes_references(ptr %list, i1 %new) gc "refcount" {
  %node = load ptr, ptr %list
  %result = call ptr @same_or_new(ptr %node, i1 %new)
  call void @work(ptr %result)
  ret void
}

; One caller passes a place in an object: no count is given to what may be no object's address.
;
; IR-LABEL: define internal ptr @place_or_new(
; IR-NOT: call void @tally.count.increment
; IR-LABEL: define void @passes_a_place(
define internal ptr @place_or_new(ptr %place, i1 %new) gc "refcount" {
entry:
  br i1 %new, label %make, label %same
same:
  ret ptr %place
make:
  %made = call ptr @tally_new(ptr @Node)
  ret ptr %made
}

define void @passes_a_place(ptr %list, i1 %new) gc "refcount" {
  %node = load ptr, ptr %list
  %place = getelementptr i8, ptr %node, i64 8
  %result = call ptr @place_or_new(ptr %place, i1 %new)
  %byte = load i8, ptr %result
  ret void
}

; The write behind the load shows that the word holds a reference. It takes the count out of the field, for the caller.
;
; IR-LABEL: define internal ptr @popped(
; IR: call void @tally.count.keep(ptr %top)
; IR: call void @tally.count.result(ptr %top)
define internal ptr @popped(ptr %stack) noinline gc "refcount" {
  %top = load ptr, ptr %stack
  %below = load ptr, ptr %top
  call void @llvm.gcwrite(ptr %below, ptr %stack, ptr %stack)
  ret ptr %top
}

define void @pops(ptr %stack) gc "refcount" {
  %top = call ptr @popped(ptr %stack)
  call void @work(ptr %top)
  ret void
}

; No root is needed for the argument of a leaf whose body stands here: the disk's count moves from pile to pile.
;
; IR-LABEL: define void @moves(
; IR-NOT: !tally.inferred
; IR: call void @tally.count.keep(ptr [[DISK:%.*]])
; IR-NOT: call void @tally.count.increment(ptr [[DISK]])
; IR: call void @tally.count.spend(ptr [[DISK]])
; IR-NEXT: call void @llvm.gcwrite(ptr [[DISK]]
; IR: ret void
define void @moves(ptr %from, ptr %to) gc "refcount" {
  %disk = call ptr @pop(ptr %from)
  call void @push(ptr %to, ptr %disk)
  ret void
}

define internal ptr @pop(ptr %pile) gc "refcount" {
  %disk = load ptr, ptr %pile
  %below = load ptr, ptr %disk
  call void @llvm.gcwrite(ptr %below, ptr %pile, ptr %pile)
  call void @llvm.gcwrite(ptr null, ptr %disk, ptr %disk)
  ret ptr %disk
}

define internal void @push(ptr %pile, ptr %disk) gc "refcount" {
  %top = load ptr, ptr %pile
  call void @llvm.gcwrite(ptr %top, ptr %disk, ptr %disk)
  call void @llvm.gcwrite(ptr %disk, ptr %pile, ptr %pile)
  ret void
}

; What is used behind the leaf has a root where its dead go.
;
; IR-LABEL: define i64 @used_behind(
; IR: store ptr %first, ptr [[KEPT:%.*]], align
; IR: call i1 @tally.count.due(i32 0)
; IR: load ptr, ptr [[KEPT]]
; IR-NEXT: call void @tally.count.own(
; IR-NEXT: call void (...) @tally.count.stop(
define i64 @used_behind(ptr %from) gc "refcount" {
  %first = load ptr, ptr %from
  %disk = call ptr @pop(ptr %from)
  %number = load i64, ptr %first
  ret i64 %number
}
