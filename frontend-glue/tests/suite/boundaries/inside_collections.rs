//! Managed functions that the runtime calls in the middle of a collection: those that trace words and that clear weak slots.

use crate::boundaries::prints;
use crate::boundaries::program::Folder;

/// Both functions come by safepoints. A list is traced as it lives and dies, and weak references to its like are cleared.
const TRACED: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@text = private constant [9 x i8] c"%ld %ld\0A\00"
@pair = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 3, i64 0, i64 0, i64 0, i32 0, i32 0,
  ptr null, i64 0, i64 0, ptr null, ptr @name, ptr null, ptr @pairs_in, ptr null, ptr null }
@weak = external constant i8
!tally.types = !{!0}
!0 = !{ptr @weak, !"size", i64 16}
@cleared = internal global i64 0
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare void @tally_weak_write(ptr, ptr, ptr)
declare void @tally_type_on_clear(ptr, ptr)
declare void @tally_safepoint()
declare void @tally_gcwrite_i64(i64, ptr, ptr)
declare void @llvm.gcroot(ptr, ptr)
declare i32 @printf(ptr, ...)
declare i32 @getpid()
define void @pairs_in(ptr %words, i64 %n, ptr %visit, ptr %context) gc "refcount" {
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %more ]
  %at = getelementptr i64, ptr %words, i64 %i
  %word = load ptr, ptr %at
  %null = icmp eq ptr %word, null
  br i1 %null, label %more, label %found
found:
  call void %visit(ptr %word, ptr %context)
  call void @tally_safepoint()
  br label %more
more:
  %pid = call i32 @getpid()
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %out, label %loop
out:
  ret void
}
define void @clear(ptr %holder, ptr %slot) gc "refcount" {
  store i64 7, ptr %slot
  %pid = call i32 @getpid()
  call void @tally_safepoint()
  %n = load i64, ptr @cleared
  %m = add i64 %n, 1
  store i64 %m, ptr @cleared
  ret void
}
define internal ptr @chain(i64 %n) noinline gc "refcount" {
  %list = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  store ptr null, ptr %list
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %o = call ptr @tally_new(ptr @pair)
  %old = load i64, ptr %list
  call void @tally_gcwrite_i64(i64 %old, ptr %o, ptr %o)
  %second = getelementptr i64, ptr %o, i64 1
  store i64 0, ptr %second
  store ptr %o, ptr %list
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %out, label %loop
out:
  %r = load ptr, ptr %list
  ret ptr %r
}
define internal i64 @length(ptr %list) gc "refcount" {
  br label %loop
loop:
  %at = phi ptr [ %list, %0 ], [ %rest, %loop ]
  %i = phi i64 [ 1, %0 ], [ %next, %loop ]
  %rest = load ptr, ptr %at
  %next = add i64 %i, 1
  %end = icmp eq ptr %rest, null
  br i1 %end, label %out, label %loop
out:
  ret i64 %i
}
define i32 @main() gc "refcount" {
  %list = alloca ptr
  %holder = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  call void @llvm.gcroot(ptr %holder, ptr null)
  call void @tally_type_on_clear(ptr @weak, ptr @clear)
  %kept = call ptr @chain(i64 50)
  store ptr %kept, ptr %list
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %w = call ptr @tally_new(ptr @weak)
  store i64 0, ptr %w
  store ptr %w, ptr %holder
  %target = call ptr @chain(i64 20)
  call void @tally_weak_write(ptr %w, ptr %w, ptr %target)
  %ring = call ptr @chain(i64 3)
  %word = ptrtoint ptr %ring to i64
  %second = getelementptr i64, ptr %ring, i64 1
  call void @tally_gcwrite_i64(i64 %word, ptr %ring, ptr %second)
  call void @tally_collect()
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, 5
  br i1 %end, label %out, label %loop
out:
  %l = load ptr, ptr %list
  %n = call i64 @length(ptr %l)
  %c = load i64, ptr @cleared
  %p = call i32 (ptr, ...) @printf(ptr @text, i64 %n, i64 %c)
  ret i32 0
}
"#;

/// The prompt plan drained inside the drain that had called the function, without end; the deferred plan began an epoch in an epoch.
#[test]
fn safepoints_of_managed_functions_inside_a_collection_pass_over_it() {
    let folder = Folder::with(&[("program.ll", TRACED)]);
    for level in ["0", "2"] {
        for more in [&[][..], &["--zeal"], &["--pause-goal", "200us"]] {
            let run = [&["run", "--opt", level], more, &["program.ll"]].concat();
            assert_eq!(folder.tally(&run), prints("50 5\n"), "{run:?}");
        }
        for more in [&[][..], &["--zeal"]] {
            folder.build(&[&["--opt", level], more, &["program.ll"]].concat());
            assert_eq!(folder.program(&[], &[]), prints("50 5\n"), "{level}, {more:?}, built");
        }
    }
}
