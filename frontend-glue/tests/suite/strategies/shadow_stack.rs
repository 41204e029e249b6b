//! `shadow-stack`: code that LLVM compiles, in Tally's process or by stock `llc`, whose roots hang on `llvm_gc_root_chain`.

use super::stock::{LEVELS, collects, llc};
use tally_kit::folder::Folder;

/// LLVM's own example, test/CodeGen/Generic/GC/alloc_loop.ll, with fewer rounds, and a tenth of them if there is an argument.
const ALLOC_LOOP: &str = r#"
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_initialize(i32)
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)

define i32 @main(i32 %words, ptr %arguments) gc "shadow-stack" {
entry:
  %A = alloca ptr
  %B = alloca ptr
  %alone = icmp eq i32 %words, 1
  %rounds = select i1 %alone, i32 200000, i32 20000
  call void @llvm_gc_initialize(i32 1048576)
  call void @llvm.gcroot(ptr %A, ptr null)
  %Aptr = call ptr @llvm_gc_allocate(i32 10)
  store ptr %Aptr, ptr %A
  call void @llvm.gcroot(ptr %B, ptr null)
  %B.upgrd.1 = call ptr @llvm_gc_allocate(i32 8)
  store ptr %B.upgrd.1, ptr %B
  %B.1 = load ptr, ptr %B
  %A.1 = load ptr, ptr %A
  call void @llvm.gcwrite(ptr %A.1, ptr %B.upgrd.1, ptr %B.1)
  br label %AllocLoop
AllocLoop:
  %i = phi i32 [ 0, %entry ], [ %indvar.next, %AllocLoop ]
  call ptr @llvm_gc_allocate(i32 100)
  %indvar.next = add i32 %i, 1
  %exitcond = icmp eq i32 %indvar.next, %rounds
  br i1 %exitcond, label %Exit, label %AllocLoop
Exit:
  %B.2 = load ptr, ptr %B
  %A.2 = load ptr, ptr %B.2
  %A.3 = load ptr, ptr %A
  %same = icmp eq ptr %A.2, %A.3
  %status = select i1 %same, i32 0, i32 1
  ret i32 %status
}
"#;

#[test]
fn llvms_example_runs_in_all_ways() {
    let folder = Folder::with(&[("list.ll", ALLOC_LOOP)]);
    for level in super::LEVELS {
        let ran = folder.tally(&["run", "--opt", level, "--epoch-bytes", "64KiB", "list.ll"]);
        assert_eq!(ran.status, Some(0), "{level}: {ran:?}");
    }
    folder.build(&["list.ll"]);
    collects(&folder, "", "tally build");
    llc(&folder, "list", &["-O2"]);
    folder.build(&["list.o"]);
    collects(&folder, "", "stock llc");
}

/// In IR, Tally's optimiser inlines rooted functions, which stock tools make broken functions of.
#[test]
fn a_list_is_held_by_the_chain() {
    let folder = Folder::with(&[("list.ll", &super::program("shadow-stack"))]);
    for level in super::LEVELS {
        folder.build(&["--opt", level, "list.ll"]);
        collects(&folder, "500500\n", level);
    }
    for (level, _) in LEVELS {
        llc(&folder, "list", &[level]);
        folder.build(&["list.o"]);
        collects(&folder, "500500\n", level);
    }
}

/// `roots` declares %root and gives it to llvm.gcroot; two objects are put in its first and third word, the second a small
/// number.
fn with_metadata(roots: &str) -> String {
    let program = r#"
@offsets = private constant [2 x i32] [i32 0, i32 16]
@name = private constant [8 x i8] c"Three w\00"
@words = constant { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr } {
  i32 1, i32 0, i64 24, i32 0, i32 0, i64 0, i64 0, i64 0, i32 2, i32 0, ptr @offsets,
  i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
@number = constant i64 1
@odd = constant [9 x i8] c"metadata\00"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
define ptr @number.of(i64 %value) gc "shadow-stack" {
  %object = call ptr @llvm_gc_allocate(i32 8)
  store i64 %value, ptr %object
  ret ptr %object
}
define i32 @main() gc "shadow-stack" {
  ROOTS
  %third.word = getelementptr i8, ptr %root, i64 16
  %second.word = getelementptr i8, ptr %root, i64 8
  %first = call ptr @number.of(i64 40)
  store ptr %first, ptr %root
  store i64 12345, ptr %second.word
  %third = call ptr @number.of(i64 2)
  store ptr %third, ptr %third.word
  call void @llvm_gc_collect()
  %a = call ptr @number.of(i64 1000)
  %b = call ptr @number.of(i64 1000)
  %kept.first = load ptr, ptr %root
  %kept.third = load ptr, ptr %third.word
  %x = load i64, ptr %kept.first
  %y = load i64, ptr %kept.third
  %sum = add i64 %x, %y
  %right = icmp eq i64 %sum, 42
  %status = select i1 %right, i32 0, i32 1
  ret i32 %status
}
"#;
    program.replace("ROOTS", roots)
}

const THREE_WORDS: &str = "%root = alloca { ptr, i64, ptr }\n  call void @llvm.gcroot(ptr %root, ptr @words)\n  \
                           %plain = alloca ptr\n  call void @llvm.gcroot(ptr %plain, ptr null)";

#[test]
fn a_root_with_a_descriptor_is_read_by_it() {
    let folder = Folder::with(&[("list.ll", &with_metadata(THREE_WORDS))]);
    for level in super::LEVELS {
        for zeal in [&[][..], &["--zeal"]] {
            let ran = folder.tally(&[&["run", "--opt", level], zeal, &["list.ll"]].concat());
            assert_eq!(ran.status, Some(0), "{level} {zeal:?}: {ran:?}");
        }
    }
    let stored = format!("{THREE_WORDS}\n  store {{ ptr, i64, ptr }} zeroinitializer, ptr %root");
    let folder = Folder::with(&[("list.ll", &with_metadata(&stored))]);
    llc(&folder, "list", &["-O2"]);
    folder.build(&["list.o"]);
    assert_eq!(folder.program(&[], &[]).status, Some(0));
}

#[test]
fn metadata_that_is_no_descriptor_is_named() {
    for meta in ["@number", "@odd", "inttoptr (i64 8 to ptr)", "@main"] {
        let roots = format!(
            "%root = alloca [3 x i64]\n  call void @llvm.gcroot(ptr %root, ptr {meta})\n  \
             store [3 x i64] zeroinitializer, ptr %root"
        );
        let folder = Folder::with(&[("list.ll", &with_metadata(&roots))]);
        llc(&folder, "list", &[]);
        folder.build(&["list.o"]);
        for outcome in [folder.tally(&["run", "list.ll"]), folder.program(&[], &[])] {
            assert_eq!(outcome.status, Some(2), "{meta}: {outcome:?}");
            assert!(outcome.stderr.contains("no type descriptor"), "{meta}: {}", outcome.stderr);
        }
    }
}

/// `down` calls itself a hundred deep, and jumps to `main`, which collects and calls again.
const JUMPS: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
@where = global [400 x i8] zeroinitializer
@rounds = global i32 0
define void @down(i32 %depth) noinline gc "shadow-stack" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  %last = icmp eq i32 %depth, 0
  br i1 %last, label %jump, label %further
jump:
  call void @longjmp(ptr @where, i32 1)
  unreachable
further:
  %less = sub i32 %depth, 1
  call void @down(i32 %less)
  ret void
}
define i32 @main() gc "shadow-stack" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 42, ptr %object
  %jumped = call i32 @_setjmp(ptr @where) returns_twice
  call void @llvm_gc_collect()
  %rounds = load i32, ptr @rounds
  %more = add i32 %rounds, 1
  store i32 %more, ptr @rounds
  %enough = icmp eq i32 %more, 10
  br i1 %enough, label %done, label %again
again:
  call void @down(i32 100)
  unreachable
done:
  %reused = call ptr @llvm_gc_allocate(i32 16)
  %kept = load volatile ptr, ptr %root
  %value = load i64, ptr %kept
  %wide = sub i64 %value, 42
  %status = trunc i64 %wide to i32
  ret i32 %status
}
"#;

#[test]
fn frames_that_longjmp_leaves_are_unlinked_or_named() {
    let folder = Folder::with(&[("list.ll", JUMPS)]);
    for level in super::LEVELS {
        let ran = folder.tally(&["run", "--opt", level, "--zeal", "list.ll"]);
        assert_eq!(ran.status, Some(0), "{level}: {ran:?}");
    }
    llc(&folder, "list", &["-O2"]);
    folder.build(&["list.o"]);
    let outcome = folder.program(&[], &[]);
    assert_eq!(outcome.status, Some(5), "{outcome:?}");
    assert!(outcome.stderr.contains("longjmp has left"), "{}", outcome.stderr);
}

/// Exceptions run the cleanups that LLVM gives such functions, and they unlink the frames.
#[test]
fn frames_that_an_exception_leaves_are_unlinked() {
    let thrower = r#"
#include <stdlib.h>
#include <unwind.h>
static struct _Unwind_Exception exception;
void throw_one(void) { _Unwind_RaiseException(&exception); abort(); }
"#;
    let program = JUMPS
        .replace("declare void @longjmp(ptr, i32) noreturn", "declare void @throw_one()\ndeclare i32 @__gxx_personality_v0(...)")
        .replace("  call void @longjmp(ptr @where, i32 1)\n", "  call void @throw_one()\n")
        .replace("define i32 @main() gc", "define i32 @main() personality ptr @__gxx_personality_v0 gc")
        .replace("define i32 @main() personality ptr @__gxx_personality_v0 gc \"shadow-stack\"", "define i32 @main() gc \"shadow-stack\" personality ptr @__gxx_personality_v0")
        .replace("  %jumped = call i32 @_setjmp(ptr @where) returns_twice\n", "  br label %round\nround:\n")
        .replace("  call void @down(i32 100)\n  unreachable\n", "  invoke void @down(i32 100) to label %never unwind label %caught\nnever:\n  unreachable\ncaught:\n  %pad = landingpad { ptr, i32 } catch ptr null\n  br label %round\n");
    let folder = Folder::with(&[("list.ll", &program), ("throw.c", thrower)]);
    for level in super::LEVELS {
        let built = folder.tally(&["run", "--opt", level, "--zeal", "list.ll", "throw.c"]);
        assert_eq!(built.status, Some(0), "{level}: {built:?}");
    }
}

/// `main` waits for a thread that makes garbage and collects: the list of roots has the frames of both.
const THREADS: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define ptr @work(ptr %argument) gc "shadow-stack" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 7, ptr %object
  br label %loop
loop:
  %count = phi i32 [ 0, %entry ], [ %more, %loop ]
  %garbage = call ptr @llvm_gc_allocate(i32 64)
  call void @llvm_gc_collect()
  %more = add i32 %count, 1
  %done = icmp eq i32 %more, 100
  br i1 %done, label %end, label %loop
end:
  %kept = load ptr, ptr %root
  %seven = load i64, ptr %kept
  %result = inttoptr i64 %seven to ptr
  ret ptr %result
}

define i32 @main() gc "shadow-stack" {
entry:
  %thread = alloca i64
  %result = alloca ptr
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 35, ptr %object
  %created = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr null)
  %number = load i64, ptr %thread
  %joined = call i32 @pthread_join(i64 %number, ptr %result)
  call void @llvm_gc_collect()
  %theirs = load i64, ptr %result
  %kept = load ptr, ptr %root
  %ours = load i64, ptr %kept
  %sum = add i64 %theirs, %ours
  %wrong = sub i64 %sum, 42
  %status = trunc i64 %wrong to i32
  ret i32 %status
}
"#;

#[test]
fn second_thread_runs_such_code_while_the_first_waits() {
    let folder = Folder::with(&[("threads.ll", THREADS)]);
    for how in [&["--opt", "0"][..], &["--opt", "2"], &["--zeal"], &["--leak-check"]] {
        let ran = folder.tally(&[&["run"][..], how, &["threads.ll"]].concat());
        assert_eq!(ran.status, Some(0), "{how:?}: {ran:?}");
    }
    llc(&folder, "threads", &["-O2"]);
    folder.build(&["threads.o"]);
    let outcome = folder.program(&[], &[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
}
