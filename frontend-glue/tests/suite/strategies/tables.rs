//! `ocaml` and `erlang`, compiled by stock `llc`: the tables that it writes name the roots.

use super::stock::{LEVELS, collects, counted, llc, tool};
use tally_kit::folder::Folder;

/// A folder with the program of `super` as `list.ll`.
fn program(strategy: &str) -> Folder {
    Folder::with(&[("list.ll", &super::program(strategy))])
}

#[test]
fn objects_with_tables_of_offsets_are_linked() {
    for strategy in ["ocaml", "erlang"] {
        let folder = program(strategy);
        for (level, _) in LEVELS {
            for frames in ["--frame-pointer=none", "--frame-pointer=all"] {
                llc(&folder, "list", &[level, frames]);
                folder.build(&["list.o"]);
                collects(&folder, "500500\n", &format!("{strategy} {level} {frames}"));
            }
        }
        llc(&folder, "list", &["-relocation-model=static"]);
        folder.build(&["--no-pie", "list.o"]);
        collects(&folder, "500500\n", &format!("{strategy} at a fixed address"));
    }
}

#[test]
fn two_modules_of_ocaml_and_one_of_erlang_are_one_program() {
    let folder = Folder::with(&[("ocaml.ll", &super::program("ocaml")), ("erlang.ll", &super::program("erlang"))]);
    for (strategy, name) in [("ocaml", "cell"), ("erlang", "ring"), ("ocaml", "main")] {
        let (source, part) = (format!("{strategy}.ll"), format!("{name}.ll"));
        // Functions alone, or with the text that they print.
        let parts = [&format!("--func={name}"), "--glob=text"];
        let parts = if name == "main" { &parts[..] } else { &parts[..1] };
        tool(&folder, "llvm-extract-22", &[&["-S", &source, "-o", &part], parts].concat());
        llc(&folder, name, &["-O2"]);
    }
    folder.build(&["main.o", "cell.o", "ring.o"]);
    collects(&folder, "500500\n", "three objects");
}

#[test]
fn an_executable_without_its_erlang_tables_says_so() {
    let folder = program("erlang");
    llc(&folder, "list", &[]);
    folder.build(&["list.o"]);
    tool(&folder, "llvm-strip-22", &["--keep-section=.note.gc", "program"]);
    collects(&folder, "500500\n", "stripped of all else");
    tool(&folder, "llvm-strip-22", &["program"]);
    let outcome = folder.program(&[], &[]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--keep-section=.note.gc"), "{}", outcome.stderr);
}

/// A function that pushes the arguments of a call while a root is live: its offsets are wrong there.
const PUSHES: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
define void @many(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g, i64 %h, i64 %i, i64 %j) noinline minsize optsize gc "STRATEGY" {
  call void @llvm_gc_collect()
  %x = call ptr @llvm_gc_allocate(i32 16)
  store i64 9, ptr %x
  ret void
}
define i32 @f(i32 %n) noinline minsize optsize gc "STRATEGY" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 7, ptr %object
  call void @many(i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10)
  %kept = load ptr, ptr %root
  %seven = load i64, ptr %kept
  %status = trunc i64 %seven to i32
  %wrong = sub i32 %status, 7
  ret i32 %wrong
}
define i32 @main() gc "STRATEGY" {
  %r = call i32 @f(i32 1000)
  ret i32 %r
}
"#;

#[test]
fn frames_that_push_arguments_are_named_or_compiled_otherwise() {
    for strategy in ["ocaml", "erlang"] {
        let folder = Folder::with(&[("list.ll", &PUSHES.replace("STRATEGY", strategy))]);
        llc(&folder, "list", &[]);
        folder.build(&["list.o"]);
        let outcome = folder.program(&[], &[]);
        assert_eq!(outcome.status, Some(5), "{strategy}: {outcome:?}");
        assert!(outcome.stderr.contains("-no-x86-call-frame-opt"), "{}", outcome.stderr);
        llc(&folder, "list", &["-no-x86-call-frame-opt"]);
        folder.build(&["list.o"]);
        assert_eq!(folder.program(&[], &[]).status, Some(0), "{strategy}");
    }
}

#[test]
fn frames_of_dynamic_size_are_walked() {
    let dynamic = DYNAMIC.replace("STRATEGY", "erlang");
    let folder = Folder::with(&[("list.ll", &dynamic)]);
    llc(&folder, "list", &["-O2"]);
    folder.build(&["list.o"]);
    assert_eq!(folder.program(&[], &[]).status, Some(0));
}

const DYNAMIC: &str = r#"
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare void @use(ptr)
define i32 @f(i32 %n) noinline gc "STRATEGY" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 7, ptr %object
  %d = alloca i8, i32 %n
  store volatile i8 3, ptr %d
  call void @llvm_gc_collect()
  %x = call ptr @llvm_gc_allocate(i32 16)
  store i64 9, ptr %x
  %kept = load ptr, ptr %root
  %seven = load i64, ptr %kept
  %status = trunc i64 %seven to i32
  %wrong = sub i32 %status, 7
  ret i32 %wrong
}
define i32 @main() gc "STRATEGY" {
  %r = call i32 @f(i32 1000)
  ret i32 %r
}
"#;

/// `tally run` links programs with objects in them, hands its options on, and leaves nothing behind.
#[test]
fn objects_are_run_as_modules_are() {
    for strategy in ["ocaml", "erlang", "shadow-stack"] {
        let folder = Folder::with(&[("list.ll", &super::program(strategy))]);
        llc(&folder, "list", &["-O0"]);
        let before = folder.names();
        let ran = folder.tally(&["run", "--epoch-bytes", "4KiB", "--stats", "list.o"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "500500\n"), "{strategy}: {ran:?}");
        assert!(counted(&ran, "marks") > 3, "{strategy}: {ran:?}");
        let ran = folder.tally(&["run", "--zeal", "--leak-check", "list.o", "--", "few"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "500500\n"), "{strategy}: {ran:?}");
        let ran = folder.tally(&["run", "--fail-allocation", "5", "list.o"]);
        assert_eq!(ran.status, Some(4), "{strategy}: {ran:?}");
        assert_eq!(folder.names(), before, "{strategy}");
    }
}

/// A module that Tally compiles beside an object of stock `llc`; without its other half the object cannot be linked.
#[test]
fn an_object_beside_a_module_is_run() {
    let whole = super::program("ocaml");
    let (library, main) = whole.split_once("define i32 @main").expect("it has a main function");
    let (declared, _) = library.split_once("define ptr @cell").expect("it defines what it calls");
    let main = format!("{declared}declare ptr @cell(ptr, i64)\ndeclare void @ring()\ndefine i32 @main{main}")
        .replace("gc \"ocaml\"", "gc \"trace\"");
    let folder = Folder::with(&[("list.ll", library), ("main.ll", &main)]);
    llc(&folder, "list", &["-O0"]);
    let ran = folder.tally(&["run", "--epoch-bytes", "4KiB", "main.ll", "list.o"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "500500\n"), "{ran:?}");
    let alone = folder.tally(&["run", "list.o"]);
    assert_eq!((alone.status, alone.stdout.as_str()), (Some(2), ""), "{alone:?}");
}
