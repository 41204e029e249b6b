//! Strategies without a write barrier, which Tally compiles for the trace plan: `gc "trace"`, LLVM's `"ocaml"` and
//! `"erlang"`, and names that are mapped on it. Each program makes garbage until several collections have come, and then
//! looks at what its roots hold. Below are the same strategies as stock tools compile them.

mod descriptors_in_a_table;
mod in_slices;
mod shadow_stack;
mod shapes_of_llvm;
mod statepoints;
mod stock;
mod tables;
mod typed_by_roots;
mod vectors;

use tally_kit::folder::Folder;

const LEVELS: [&str; 4] = ["0", "1", "2", "3"];

/// A list of a thousand cells is kept in a root, and for each sixteen dead rings are made, or one if there is an argument. Prints the
/// sum of the numbers in it. References are stored plainly.
const PROGRAM: &str = r#"
target triple = "x86_64-unknown-linux-gnu"
@text = private constant [6 x i8] c"%lld\0A\00"
declare i32 @printf(ptr, ...)
declare void @llvm.gcroot(ptr, ptr)
declare ptr @llvm_gc_allocate(i32)

define ptr @cell(ptr %next, i64 %number) gc "STRATEGY" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %next, ptr %root
  %cell = call ptr @llvm_gc_allocate(i32 16)
  %kept = load ptr, ptr %root
  store ptr %kept, ptr %cell
  %value = getelementptr i8, ptr %cell, i64 8
  store i64 %number, ptr %value
  ret ptr %cell
}

define void @ring() gc "STRATEGY" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %first = call ptr @cell(ptr null, i64 1)
  store ptr %first, ptr %root
  %second = call ptr @cell(ptr %first, i64 2)
  %kept = load ptr, ptr %root
  store ptr %second, ptr %kept
  ret void
}

define i32 @main(i32 %words, ptr %arguments) gc "STRATEGY" {
entry:
  %list = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  store ptr null, ptr %list
  %alone = icmp eq i32 %words, 1
  %rings = select i1 %alone, i64 16, i64 1
  br label %make
make:
  %number = phi i64 [ 1, %entry ], [ %more, %grow ]
  br label %litter
litter:
  %before = phi i64 [ 0, %make ], [ %made, %litter ]
  call void @ring()
  %made = add i64 %before, 1
  %all = icmp eq i64 %made, %rings
  br i1 %all, label %grow, label %litter
grow:
  %old = load ptr, ptr %list
  %new = call ptr @cell(ptr %old, i64 %number)
  store ptr %new, ptr %list
  %more = add i64 %number, 1
  %enough = icmp eq i64 %more, 1001
  br i1 %enough, label %look, label %make
look:
  %first = load ptr, ptr %list
  br label %next
next:
  %at = phi ptr [ %first, %look ], [ %behind, %next ]
  %sum = phi i64 [ 0, %look ], [ %larger, %next ]
  %value = getelementptr i8, ptr %at, i64 8
  %here = load i64, ptr %value
  %larger = add i64 %sum, %here
  %behind = load ptr, ptr %at
  %end = icmp eq ptr %behind, null
  br i1 %end, label %done, label %next
done:
  %printed = call i32 (ptr, ...) @printf(ptr @text, i64 %larger)
  ret i32 0
}
"#;

/// The program of a strategy.
fn program(strategy: &str) -> String {
    PROGRAM.replace("STRATEGY", strategy)
}

/// Runs the program of `strategy` in all ways; `options` say how it is understood. Zeal collects at every safepoint, and has one
/// ring for each cell.
fn holds_its_list(strategy: &str, options: &[&str]) {
    all_ways(&program(strategy), options);
}

fn all_ways(program: &str, options: &[&str]) {
    let folder = Folder::with(&[("list.ll", program)]);
    let ways: [&[&str]; 2] = [&["--epoch-bytes", "4KiB", "list.ll"], &["--zeal", "list.ll", "--", "few"]];
    for (level, way) in LEVELS.iter().flat_map(|level| ways.map(|way| (level, way))) {
        let outcome = folder.tally(&[&["run", "--opt", level], options, way].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "500500\n"), "{level} {way:?}: {outcome:?}");
    }
    let outcome = folder.tally(&[&["build"], options, &["list.ll", "-o", "program"]].concat());
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let outcome = folder.program(&[("TALLY_EPOCH_BYTES", "4KiB"), ("TALLY_STATS", "1")], &[]);
    assert_eq!(outcome.stdout, "500500\n", "{}", outcome.stderr);
    let counted = |name: &str| {
        let line = outcome.stderr.lines().find(|line| line.starts_with(&format!("tally: {name} ")));
        line.and_then(|line| line.split(' ').next_back()?.parse::<u64>().ok()).expect("the statistics have it")
    };
    assert!(counted("marks") > 3 && counted("freed_objects") > 1000, "{}", outcome.stderr);
}

#[test]
fn trace_is_a_strategy() {
    holds_its_list("trace", &[]);
}

#[test]
fn ocaml_and_erlang_are_compiled_for_the_trace_plan_where_they_allocate() {
    for strategy in ["ocaml", "erlang"] {
        holds_its_list(strategy, &[]);
    }
}

/// As a frontend writes them: typed references, and no root.
#[test]
fn statepoint_example_and_coreclr_are_compiled_for_the_trace_plan_where_references_are_typed() {
    for strategy in ["statepoint-example", "coreclr"] {
        let typed = |program: &str| {
            let lines = program.lines().filter(|line| !line.contains("gcroot"));
            let program: String = lines.map(|line| format!("{line}\n")).collect();
            let program = program
                .replace("declare ptr @llvm_gc_allocate(i32)", "declare REF @llvm_gc_allocate(i32)")
                .replace("alloca ptr", "alloca REF")
                .replace("define ptr @cell(ptr", "define REF @cell(REF")
                .replace("call ptr @", "call REF @")
                .replace("@cell(ptr", "@cell(REF")
                .replace("load ptr, ptr %root", "load REF, ptr %root")
                .replace("load ptr, ptr %list", "load REF, ptr %list")
                .replace("load ptr, ptr %at", "load REF, REF %at")
                .replace("load i64, ptr", "load i64, REF")
                .replace("store ptr %next, ptr %root", "store REF %next, ptr %root")
                .replace("store ptr %first, ptr %root", "store REF %first, ptr %root")
                .replace("store ptr null, ptr %list", "store REF null, ptr %list")
                .replace("store ptr %new, ptr %list", "store REF %new, ptr %list")
                .replace("store ptr %kept, ptr %cell", "store REF %kept, REF %cell")
                .replace("store ptr %second, ptr %kept", "store REF %second, REF %kept")
                .replace("store i64 %number, ptr", "store i64 %number, REF")
                .replace("getelementptr i8, ptr", "getelementptr i8, REF")
                .replace("phi ptr", "phi REF")
                .replace("icmp eq ptr", "icmp eq REF")
                .replace("ret ptr", "ret REF");
            program.replace("REF", "ptr addrspace(1)")
        };
        all_ways(&typed(&program(strategy)), &[]);
    }
}

#[test]
fn a_module_names_its_strategies_itself() {
    let named = |plan: &str| format!("\n!tally.strategy = !{{!100}}\n!100 = !{{!\"semispace\", !\"{plan}\"}}\n");
    let with = |plan: &str| program("semispace") + &named(plan);
    all_ways(&with("trace"), &[]);
    let wrong = Folder::with(&[("list.ll", &with("mark-sweep"))]);
    let outcome = wrong.tally(&["verify", "list.ll"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("!tally.strategy"), "{}", outcome.stderr);
}

#[test]
fn other_names_are_mapped_on_it() {
    holds_its_list("semispace", &["--gc-name", "semispace=trace"]);
    holds_its_list("shadow-stack", &["--gc-name", "shadow-stack=trace"]);
    holds_its_list("refcount", &["--plan", "trace"]);
}

#[test]
fn code_of_the_trace_plan_has_no_barrier_and_its_stores_are_not_refused() {
    let module = "declare void @llvm.gcwrite(ptr, ptr, ptr)\n\
                  define void @write(ptr %object, ptr %slot, ptr %value) gc \"trace\" {\n  \
                  call void @llvm.gcwrite(ptr %value, ptr %object, ptr %slot)\n  ret void\n}\n";
    let folder = Folder::with(&[("write.ll", module)]);
    let lowered = folder.tally(&["lower", "write.ll", "-o", "-"]);
    assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
    assert!(lowered.stdout.contains("store ptr %value, ptr %slot"), "{}", lowered.stdout);
    assert!(!lowered.stdout.contains("tally_log_slow"), "{}", lowered.stdout);
    let verified = Folder::with(&[("list.ll", &program("trace"))]).tally(&["verify", "list.ll"]);
    assert_eq!((verified.status, verified.stderr.contains("barrier")), (Some(0), false), "{}", verified.stderr);
}

#[test]
fn zeal_finds_nothing_wrong_with_plain_stores_of_the_trace_plan() {
    const PROGRAM: &str = r#"
declare ptr @tally_new(ptr)
declare void @tally_collect()
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
define i32 @main() gc "trace" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  %node = call ptr @tally_new(ptr @Node)
  store ptr %node, ptr %root
  call void @tally_collect()
  %other = call ptr @tally_new(ptr @Node)
  store ptr %other, ptr %node
  call void @llvm.memcpy.p0.p0.i64(ptr %other, ptr %node, i64 16, i1 false)
  call void @tally_collect()
  %kept = load ptr, ptr %node
  %same = load ptr, ptr %kept
  call void @llvm.gcwrite(ptr null, ptr %same, ptr %same)
  ret i32 0
}
"#;
    let folder = Folder::with(&[("plain.ll", PROGRAM)]);
    let outcome = folder.tally(&["run", "--zeal", "plain.ll"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
}
