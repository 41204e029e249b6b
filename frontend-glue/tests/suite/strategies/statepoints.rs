//! Statepoints: `statepoint-example` and `coreclr` after stock `opt` has put polls and statepoints in. The IR goes to Tally,
//! or to stock `llc` and its object to `tally build`.

use super::stock::{LEVELS, collects, llc, tool};
use tally_kit::folder::Folder;

/// A list of a thousand cells is kept, and for each eight dead rings are made, or one if there is an argument, and a pointer into one of two objects outlives
/// collections. Prints 500,500 for the list, and 15,000 read through these pointers.
const PROGRAM: &str = r#"
target triple = "x86_64-unknown-linux-gnu"
@text = private constant [6 x i8] c"%lld\0A\00"
declare i32 @printf(ptr, ...) "gc-leaf-function"
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare void @tally_safepoint()
declare ptr addrspace(1) @llvm.experimental.gc.get.pointer.base.p1.p1(ptr addrspace(1))
declare i64 @llvm.experimental.gc.get.pointer.offset.p1(ptr addrspace(1))

define void @gc.safepoint_poll() gc "STRATEGY" {
  call void @tally_safepoint()
  ret void
}

define ptr addrspace(1) @cell(ptr addrspace(1) %next, i64 %number) gc "STRATEGY" {
  %cell = call ptr addrspace(1) @llvm_gc_allocate(i32 16)
  store ptr addrspace(1) %next, ptr addrspace(1) %cell
  %value = getelementptr i8, ptr addrspace(1) %cell, i64 8
  store i64 %number, ptr addrspace(1) %value
  ret ptr addrspace(1) %cell
}

define void @ring() gc "STRATEGY" {
  %first = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 1)
  %second = call ptr addrspace(1) @cell(ptr addrspace(1) %first, i64 2)
  store ptr addrspace(1) %second, ptr addrspace(1) %first
  ret void
}

define void @rings(i64 %rings) gc "STRATEGY" {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @ring()
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %rings
  br i1 %done, label %out, label %loop
out:
  ret void
}

define i64 @through_a_derived_pointer(i1 %first, i64 %rings) noinline gc "STRATEGY" {
  %a = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 10)
  %b = call ptr addrspace(1) @cell(ptr addrspace(1) null, i64 20)
  %in.a = getelementptr i8, ptr addrspace(1) %a, i64 8
  %in.b = getelementptr i8, ptr addrspace(1) %b, i64 8
  %pointer = select i1 %first, ptr addrspace(1) %in.a, ptr addrspace(1) %in.b
  call void @rings(i64 %rings)
  %number = load i64, ptr addrspace(1) %pointer
  %base = call ptr addrspace(1) @llvm.experimental.gc.get.pointer.base.p1.p1(ptr addrspace(1) %pointer)
  %offset = call i64 @llvm.experimental.gc.get.pointer.offset.p1(ptr addrspace(1) %pointer)
  %again = getelementptr i8, ptr addrspace(1) %base, i64 %offset
  %same = load i64, ptr addrspace(1) %again
  %difference = sub i64 %number, %same
  %sum = add i64 %number, %difference
  ret i64 %sum
}

define i32 @main(i32 %words, ptr %arguments) gc "STRATEGY" {
entry:
  %alone = icmp eq i32 %words, 1
  %rings = select i1 %alone, i64 8, i64 1
  br label %make
make:
  %list = phi ptr addrspace(1) [ null, %entry ], [ %longer, %make ]
  %number = phi i64 [ 1, %entry ], [ %more, %make ]
  %read = phi i64 [ 0, %entry ], [ %more.read, %make ]
  %odd = trunc i64 %number to i1
  %one = call i64 @through_a_derived_pointer(i1 %odd, i64 %rings)
  %more.read = add i64 %read, %one
  %longer = call ptr addrspace(1) @cell(ptr addrspace(1) %list, i64 %number)
  %more = add i64 %number, 1
  %enough = icmp eq i64 %more, 1001
  br i1 %enough, label %look, label %make
look:
  %at = phi ptr addrspace(1) [ %longer, %make ], [ %behind, %look ]
  %sum = phi i64 [ %more.read, %make ], [ %larger, %look ]
  %value = getelementptr i8, ptr addrspace(1) %at, i64 8
  %here = load i64, ptr addrspace(1) %value
  %larger = add i64 %sum, %here
  %behind = load ptr addrspace(1), ptr addrspace(1) %at
  %end = icmp eq ptr addrspace(1) %behind, null
  br i1 %end, label %done, label %look
done:
  %printed = call i32 (ptr, ...) @printf(ptr @text, i64 %larger)
  ret i32 0
}
"#;

const OUTPUT: &str = "515500\n";

const STRATEGIES: [&str; 2] = ["statepoint-example", "coreclr"];

/// The passes that put polls and statepoints in.
const REWRITE: &str = "function(place-safepoints),rewrite-statepoints-for-gc";

/// A folder with `list.ll`, which has statepoints.
fn rewritten(source: &str, passes: &str) -> Folder {
    let folder = Folder::with(&[("source.ll", source)]);
    tool(&folder, "opt-22", &[&format!("-passes={passes}{REWRITE}"), "-S", "source.ll", "-o", "list.ll"]);
    folder
}

#[test]
fn ir_with_statepoints_runs_in_all_ways() {
    for strategy in STRATEGIES {
        let folder = rewritten(&PROGRAM.replace("STRATEGY", strategy), "");
        for level in ["0", "2"] {
            for way in [&["--epoch-bytes", "4KiB", "list.ll"][..], &["--zeal", "list.ll", "--", "few"]] {
                let outcome = folder.tally(&[&["run", "--opt", level], way].concat());
                assert_eq!(
                    (outcome.status, outcome.stdout.as_str()),
                    (Some(0), OUTPUT),
                    "{level} {way:?}: {outcome:?}"
                );
            }
            folder.build(&["--opt", level, "list.ll"]);
            collects(&folder, OUTPUT, level);
        }
    }
}

/// LLVM's passes take a variable out of the bundle that names it.
#[test]
fn a_variable_that_statepoints_name_is_a_root_at_every_level() {
    const NAMED: &str = r#"
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)
declare ptr addrspace(1) @llvm.experimental.gc.result.p1(token)
define void @fill(ptr %to) noinline gc "statepoint-example" {
  %made = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 2, i32 0, ptr elementtype(ptr addrspace(1) (i32)) @llvm_gc_allocate, i32 1, i32 0, i32 32, i32 0, i32 0)
  %object = call ptr addrspace(1) @llvm.experimental.gc.result.p1(token %made)
  store i64 42, ptr addrspace(1) %object
  store ptr addrspace(1) %object, ptr %to
  ret void
}
define i32 @main() gc "statepoint-example" {
  %variable = alloca ptr addrspace(1)
  store ptr addrspace(1) null, ptr %variable
  %filled = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 1, i32 0, ptr elementtype(void (ptr)) @fill, i32 1, i32 0, ptr %variable, i32 0, i32 0) [ "gc-live"(ptr %variable) ]
  %collected = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 1, i32 0, ptr elementtype(void ()) @llvm_gc_collect, i32 0, i32 0, i32 0, i32 0) [ "gc-live"(ptr %variable) ]
  %made = call token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 1, i32 0, ptr elementtype(ptr addrspace(1) (i32)) @llvm_gc_allocate, i32 1, i32 0, i32 32, i32 0, i32 0) [ "gc-live"(ptr %variable) ]
  %other = call ptr addrspace(1) @llvm.experimental.gc.result.p1(token %made)
  store i64 66, ptr addrspace(1) %other
  %kept = load ptr addrspace(1), ptr %variable
  %value = load i64, ptr addrspace(1) %kept
  %status = trunc i64 %value to i32
  ret i32 %status
}
"#;
    let folder = Folder::with(&[("named.ll", NAMED)]);
    for level in ["0", "1", "2", "3", "s"] {
        let outcome = folder.tally(&["run", "--opt", level, "named.ll"]);
        assert_eq!(outcome.status, Some(42), "{level}: {outcome:?}");
        folder.build(&["--opt", level, "named.ll"]);
        assert_eq!(folder.program(&[], &[]).status, Some(42), "{level}");
    }
}

/// As a frontend writes it: without statepoints, with the layout that makes its references non-integral, and with questions
/// for bases and offsets, which the code generator would not know.
#[test]
fn ir_without_statepoints_asks_for_bases_and_offsets() {
    for strategy in STRATEGIES {
        let layout = "target datalayout = \"e-m:e-i64:64-f80:128-n8:16:32:64-S128-ni:1\"\n";
        let folder = Folder::with(&[("list.ll", &format!("{layout}{}", PROGRAM.replace("STRATEGY", strategy)))]);
        for level in ["0", "1", "2", "3"] {
            let outcome = folder.tally(&["run", "--zeal", "--opt", level, "list.ll"]);
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), OUTPUT), "{level}: {outcome:?}");
            folder.build(&["--opt", level, "list.ll"]);
            collects(&folder, OUTPUT, level);
        }
    }
}

/// What a call's state of deoptimisation names is used while the callee runs: a root must hold it, though nothing else needs it.
/// The callee looks by the address that it was told beforehand, as who deoptimises would.
#[test]
fn state_of_deoptimisation_is_kept_while_the_callee_runs() {
    let program = r#"
@address = global i64 0
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
define i64 @look() noinline gc "statepoint-example" {
  call void @llvm_gc_collect()
  %filler = call ptr addrspace(1) @llvm_gc_allocate(i32 16)
  store i64 1, ptr addrspace(1) %filler
  %address = load i64, ptr @address
  %place = inttoptr i64 %address to ptr
  %found = load i64, ptr %place
  ret i64 %found
}
define i32 @main() gc "statepoint-example" {
  %object = call ptr addrspace(1) @llvm_gc_allocate(i32 16)
  store i64 7, ptr addrspace(1) %object
  %inside = getelementptr i8, ptr addrspace(1) %object, i64 8
  %number = ptrtoint ptr addrspace(1) %object to i64
  store i64 %number, ptr @address
  %found = call i64 @look() STATE
  %status = trunc i64 %found to i32
  %wrong = sub i32 %status, 7
  ret i32 %wrong
}
"#;
    let kept = program.replace("STATE", "[ \"deopt\"(i32 1, ptr addrspace(1) %inside) ]");
    let folder = Folder::with(&[("kept.ll", &kept), ("lost.ll", &program.replace("STATE", ""))]);
    for level in ["0", "1", "2", "3"] {
        for way in [&["--zeal"][..], &[]] {
            let outcome = folder.tally(&[&["run", "--opt", level], way, &["kept.ll"]].concat());
            assert_eq!(outcome.status, Some(0), "{level} {way:?}: {outcome:?}");
        }
        let lost = folder.tally(&["run", "--zeal", "--opt", level, "lost.ll"]);
        assert_ne!(lost.status, Some(0), "{level}: nothing keeps the object");
    }
}

#[test]
fn objects_that_stock_llc_made_of_statepoints_are_linked() {
    let by_turns = STRATEGIES.into_iter().cycle();
    for ((level, passes), strategy) in LEVELS.into_iter().zip(by_turns) {
        let folder = rewritten(&PROGRAM.replace("STRATEGY", strategy), passes);
        for frames in ["--frame-pointer=none", "--frame-pointer=all"] {
            llc(&folder, "list", &[level, frames]);
            folder.build(&["list.o"]);
            collects(&folder, OUTPUT, &format!("{level} {frames}"));
        }
        if level == "-O2" {
            llc(&folder, "list", &[level, "-relocation-model=static"]);
            folder.build(&["--no-pie", "list.o"]);
            collects(&folder, OUTPUT, "at a fixed address");
        }
    }
}

/// Ten thousand frames, by turns of Tally's code and of stock code without frame pointers; each holds an object that nothing
/// else holds. Under zeal, at a smaller depth, the first touch of one that was lost is told.
#[test]
fn frames_of_stock_code_lie_between_frames_of_tallys() {
    let stock = r#"
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare i64 @ours(i64)
define i64 @stock(i64 %depth) gc "statepoint-example" {
  %object = call ptr addrspace(1) @llvm_gc_allocate(i32 16)
  store i64 %depth, ptr addrspace(1) %object
  %below = call i64 @ours(i64 %depth)
  %kept = load i64, ptr addrspace(1) %object
  %sum = add i64 %below, %kept
  ret i64 %sum
}
"#;
    let main = r#"
@text = private constant [6 x i8] c"%lld\0A\00"
declare i32 @printf(ptr, ...)
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare i64 @stock(i64)
define i64 @ours(i64 %depth) gc "trace" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %object = call ptr @llvm_gc_allocate(i32 16)
  store ptr %object, ptr %root
  store i64 1, ptr %object
  %last = icmp eq i64 %depth, 0
  br i1 %last, label %bottom, label %further
bottom:
  call void @llvm_gc_collect()
  br label %out
further:
  %less = sub i64 %depth, 1
  %below = call i64 @stock(i64 %less)
  br label %out
out:
  %sum = phi i64 [ 0, %bottom ], [ %below, %further ]
  %kept = load ptr, ptr %root
  %one = load i64, ptr %kept
  %all = add i64 %sum, %one
  ret i64 %all
}
define i32 @main() gc "trace" {
  %sum = call i64 @ours(i64 5000)
  %printed = call i32 (ptr, ...) @printf(ptr @text, i64 %sum)
  ret i32 0
}
"#;
    let folder = Folder::with(&[("source.ll", stock), ("main.ll", main)]);
    tool(&folder, "opt-22", &["-passes=rewrite-statepoints-for-gc", "-S", "source.ll", "-o", "list.ll"]);
    llc(&folder, "list", &["-O2"]);
    folder.build(&["main.ll", "list.o"]);
    let outcome = folder.program(&[("TALLY_STATS", "1")], &[]);
    // 1 for each of 5,001 frames of ours, 0 to 4,999 for those of stock code.
    assert_eq!(outcome.stdout, format!("{}\n", 5001 + 4999 * 5000 / 2), "{}", outcome.stderr);
    std::fs::write(folder.path("main.ll"), main.replace("5000", "40")).unwrap();
    folder.build(&["--zeal", "main.ll", "list.o"]);
    let under_zeal = folder.program(&[], &[]);
    assert_eq!(under_zeal.stdout, format!("{}\n", 41 + 39 * 40 / 2), "{}", under_zeal.stderr);
    std::fs::write(folder.path("main.ll"), main).unwrap();
    let in_one_module = folder.tally(&["run", "main.ll", "list.ll"]);
    assert_eq!(in_one_module.stdout, outcome.stdout, "{}", in_one_module.stderr);
}

#[test]
fn pointers_in_registers_are_refused() {
    let folder = rewritten(&PROGRAM.replace("STRATEGY", "coreclr"), "default<O2>,");
    llc(&folder, "list", &["-O2", "-max-registers-for-gc-values=8", "-fixup-allow-gcptr-in-csr"]);
    folder.build(&["list.o"]);
    let outcome = folder.program(&[], &[]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("in register") && outcome.stderr.contains("list.o"), "{}", outcome.stderr);
}

#[test]
fn a_program_that_counts_is_not_linked_with_code_that_does_not() {
    let folder = rewritten(&PROGRAM.replace("STRATEGY", "coreclr").replace("@main", "@other"), "");
    std::fs::write(folder.path("main.ll"), "define i32 @main() gc \"refcount\" {\n  ret i32 0\n}\n").unwrap();
    llc(&folder, "list", &[]);
    for foreign in ["list.o", "list.ll"] {
        let refused = folder.tally(&["build", "main.ll", foreign, "-o", "program"]);
        assert_eq!(refused.status, Some(2), "{foreign}: {refused:?}");
        assert!(refused.stderr.contains("plan"), "{foreign}: {}", refused.stderr);
    }
    folder.build(&["--plan", "trace", "main.ll", "list.o"]);
}

/// References in the places where statepoints put them: behind an exception, in vectors, in frames of dynamic size, among
/// arguments on the stack, beside pointers to other memory. Ends with status 0 if each is read right behind a collection.
const SHAPES: &str = r#"target triple = "x86_64-unknown-linux-gnu"
declare ptr addrspace(1) @llvm_gc_allocate(i32)
declare void @llvm_gc_collect()
declare void @throw_one()
declare i32 @__gcc_personality_v0(...)
@global = global i64 128

define ptr addrspace(1) @number(i64 %value) gc "statepoint-example" {
  %object = call ptr addrspace(1) @llvm_gc_allocate(i32 8)
  store i64 %value, ptr addrspace(1) %object
  ret ptr addrspace(1) %object
}

define void @garbage() gc "statepoint-example" {
  call void @llvm_gc_collect()
  %a = call ptr addrspace(1) @number(i64 1000)
  %b = call ptr addrspace(1) @number(i64 1000)
  %c = call ptr addrspace(1) @number(i64 1000)
  ret void
}

; An exception leaves the call, and the object is used behind it. (LLVM wants such a pad to be a token, which cannot go on unwinding.)
define i64 @in_a_landing_pad() noinline gc "statepoint-example" personality ptr @__gcc_personality_v0 {
  %object = call ptr addrspace(1) @number(i64 1)
  invoke void @throw_one() to label %never unwind label %caught
never:
  unreachable
caught:
  %pad = landingpad token cleanup
  call void @garbage()
  %value = load i64, ptr addrspace(1) %object
  ret i64 %value
}

; Two objects in a vector.
define i64 @in_a_vector() noinline gc "statepoint-example" {
  %a = call ptr addrspace(1) @number(i64 2)
  %b = call ptr addrspace(1) @number(i64 4)
  %one = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %a, i32 0
  %both = insertelement <2 x ptr addrspace(1)> %one, ptr addrspace(1) %b, i32 1
  call void @garbage()
  %c = extractelement <2 x ptr addrspace(1)> %both, i32 0
  %d = extractelement <2 x ptr addrspace(1)> %both, i32 1
  %x = load i64, ptr addrspace(1) %c
  %y = load i64, ptr addrspace(1) %d
  %sum = add i64 %x, %y
  ret i64 %sum
}

define i64 @body(ptr addrspace(1) %environment) gc "statepoint-example" {
  call void @garbage()
  %value = load i64, ptr addrspace(1) %environment
  ret i64 %value
}

define { ptr addrspace(1), ptr } @closure() noinline gc "statepoint-example" {
  %environment = call ptr addrspace(1) @number(i64 8)
  %half = insertvalue { ptr addrspace(1), ptr } poison, ptr addrspace(1) %environment, 0
  %closure = insertvalue { ptr addrspace(1), ptr } %half, ptr @body, 1
  ret { ptr addrspace(1), ptr } %closure
}

; The code that is called is the second element of what another call has returned.
define i64 @through_a_closure() noinline gc "statepoint-example" {
  %closure = call { ptr addrspace(1), ptr } @closure()
  %environment = extractvalue { ptr addrspace(1), ptr } %closure, 0
  %code = extractvalue { ptr addrspace(1), ptr } %closure, 1
  %value = call i64 %code(ptr addrspace(1) %environment)
  ret i64 %value
}

; More arguments than registers, and a frame of dynamic size.
define i64 @of_many(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, ptr addrspace(1) %g, ptr addrspace(1) %h) noinline gc "statepoint-example" {
  %bytes = alloca i8, i64 %a
  store volatile i8 1, ptr %bytes
  call void @garbage()
  %x = load i64, ptr addrspace(1) %g
  %y = load i64, ptr addrspace(1) %h
  %sum = add i64 %x, %y
  ret i64 %sum
}

define i64 @on_the_stack() noinline gc "statepoint-example" {
  %g = call ptr addrspace(1) @number(i64 16)
  %h = call ptr addrspace(1) @number(i64 32)
  %sum = call i64 @of_many(i64 100, i64 0, i64 0, i64 0, i64 0, i64 0, ptr addrspace(1) %g, ptr addrspace(1) %h)
  ret i64 %sum
}

; A pointer that is no object's, or null.
define i64 @beside_the_heap(ptr addrspace(1) %outside, i1 %c) noinline gc "statepoint-example" {
  %either = select i1 %c, ptr addrspace(1) %outside, ptr addrspace(1) null
  call void @garbage()
  %is.null = icmp eq ptr addrspace(1) %either, null
  br i1 %is.null, label %none, label %some
none:
  ret i64 64
some:
  %value = load i64, ptr addrspace(1) %either
  ret i64 %value
}

define i32 @main() {
  %a = call i64 @in_a_landing_pad()
  %b = call i64 @in_a_vector()
  %c = call i64 @through_a_closure()
  %d = call i64 @on_the_stack()
  %outside = addrspacecast ptr @global to ptr addrspace(1)
  %e = call i64 @beside_the_heap(ptr addrspace(1) %outside, i1 true)
  %f = call i64 @beside_the_heap(ptr addrspace(1) %outside, i1 false)
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %abcd = add i64 %abc, %d
  %abcde = add i64 %abcd, %e
  %all = add i64 %abcde, %f
  %wrong = sub i64 %all, 255
  %status = trunc i64 %wrong to i32
  ret i32 %status
}
"#;

const THROW: &str = r#"
#include <stdlib.h>
#include <unwind.h>
static struct _Unwind_Exception exception;
static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class, struct _Unwind_Exception *thrown,
                                struct _Unwind_Context *context, void *data) {
    return _URC_NO_REASON;
}
void throw_one(void) { _Unwind_ForcedUnwind(&exception, stop, NULL); abort(); }
"#;

#[test]
fn references_of_every_shape_outlive_collections() {
    for passes in ["", "default<O2>,"] {
        let files = [("source.ll", SHAPES), ("throw.c", THROW)];
        let folder = Folder::with(&files);
        let rewrite = |source: &str| {
            let passes = format!("-passes={passes}rewrite-statepoints-for-gc");
            tool(&folder, "opt-22", &[&passes, "-S", source, "-o", "list.ll"]);
        };
        rewrite("source.ll");
        for (level, zeal) in [("0", &["--zeal"][..]), ("2", &[]), ("3", &["--zeal"])] {
            let outcome = folder.tally(&[&["run", "--opt", level], zeal, &["list.ll", "throw.c"]].concat());
            assert_eq!(outcome.status, Some(0), "{passes} {level} {zeal:?}: {outcome:?}");
        }
        // Stock llc calls the first element of an aggregate in place of another: no closure there.
        let closed = SHAPES.replace("%value = call i64 %code(", "%value = call i64 @body(");
        std::fs::write(folder.path("closed.ll"), closed).unwrap();
        rewrite("closed.ll");
        for (level, _) in LEVELS {
            llc(&folder, "list", &[level]);
            folder.build(&["list.o", "throw.c"]);
            let outcome = folder.program(&[("TALLY_ZEAL", "1")], &[]);
            assert_eq!(outcome.status, Some(0), "{passes} {level}: {outcome:?}");
        }
    }
}
