//! Programs whose memory Tally manages, through the whole command: run, built, checked, reported.

use tally_kit::folder::{Folder, Outcome};

const LEVELS: [&str; 5] = ["0", "1", "2", "3", "s"];

/// Lists that die, rings that only the cycle detector frees, and one object that a global keeps for a while.
const RINGS: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next, *other; long value; } Node;
TALLY_TYPE(Node, next, other);
static Node *kept;
static Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}
int main(int argc, char **argv) {
    long sum = 0;
    for (int round = 0; round < 200; round++) {
        Node *list = NULL, *last = NULL;
        TALLY_ROOT(list, last);
        for (int i = 0; i < 50; i++) {
            list = push(list, i * argc);
            if (!last) last = list;
        }
        TALLY_WRITE(last, other, list);
        TALLY_WRITE_GLOBAL(kept, list);
        for (Node *n = kept; n; n = n->next) sum += n->value;
    }
    TALLY_WRITE_GLOBAL(kept, (Node *)NULL);
    printf("%ld\n", sum);
    return 0;
}
"#;

/// The same in IR: a list of 1000, summed, the way a frontend would write it.
const LIST: &str = r#"
%node = type { ptr, i64 }
@node.name = private constant [5 x i8] c"Node\00"
@node.refs = private constant [1 x i32] [i32 0]
@node = constant { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr } { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @node.refs, i64 0, i64 0, ptr null, ptr @node.name, ptr null, ptr null, ptr null, ptr null }
@format = private constant [6 x i8] c"%lld\0A\00"
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @llvm.gcread(ptr, ptr)
declare ptr @tally_new(ptr)
declare i32 @printf(ptr, ...)
define i32 @main() gc "refcount" {
entry:
  %list = alloca ptr
  call void @llvm.gcroot(ptr %list, ptr null)
  store ptr null, ptr %list
  br label %build
build:
  %i = phi i64 [ 0, %entry ], [ %i.next, %build ]
  %node = call ptr @tally_new(ptr @node)
  %head = load ptr, ptr %list
  call void @llvm.gcwrite(ptr %head, ptr %node, ptr %node)
  %value = getelementptr %node, ptr %node, i32 0, i32 1
  store i64 %i, ptr %value
  store ptr %node, ptr %list
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 1000
  br i1 %more, label %build, label %walk.entry
walk.entry:
  %first = load ptr, ptr %list
  br label %walk
walk:
  %n = phi ptr [ %first, %walk.entry ], [ %next, %walk ]
  %sum = phi i64 [ 0, %walk.entry ], [ %sum.next, %walk ]
  %at = getelementptr %node, ptr %n, i32 0, i32 1
  %v = load i64, ptr %at
  %sum.next = add i64 %sum, %v
  %next = call ptr @llvm.gcread(ptr %n, ptr %n)
  %end = icmp eq ptr %next, null
  br i1 %end, label %print, label %walk
print:
  %printed = call i32 (ptr, ...) @printf(ptr @format, i64 %sum.next)
  ret i32 7
}
"#;

const SUM_OF_RINGS: &str = "245000\n";
const SUM_OF_LIST: &str = "499500\n";

fn prints(status: i32, stdout: &str) -> Outcome {
    Outcome { status: Some(status), stdout: stdout.into(), stderr: String::new() }
}

#[test]
fn programs_run_at_every_level_and_leave_nothing() {
    let folder = Folder::with(&[("rings.c", RINGS), ("list.ll", LIST)]);
    for level in LEVELS {
        let arguments = ["run", "--leak-check", "--epoch-bytes", "64KiB", "--opt", level];
        let with = |file| arguments.iter().copied().chain([file]).collect::<Vec<_>>();
        assert_eq!(folder.tally(&with("rings.c")), prints(0, SUM_OF_RINGS), "--opt {level}");
        assert_eq!(folder.tally(&with("list.ll")), prints(7, SUM_OF_LIST), "--opt {level}");
    }
}

#[test]
fn zeal_finds_nothing_in_right_programs() {
    let folder = Folder::with(&[("rings.c", RINGS), ("list.ll", LIST)]);
    for level in ["0", "2"] {
        assert_eq!(
            folder.tally(&["run", "--zeal", "--opt", level, "list.ll"]),
            prints(7, SUM_OF_LIST),
            "--opt {level}"
        );
    }
}

#[test]
fn executables_do_the_same_and_have_no_text_relocations() {
    let folder = Folder::with(&[("rings.c", RINGS)]);
    for level in LEVELS {
        folder.build(&["--opt", level, "rings.c"]);
        assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), prints(0, SUM_OF_RINGS), "--opt {level}");
        assert!(!folder.inspect("readelf", &["-d"]).contains("TEXTREL"));
    }
    folder.build(&["--no-pie", "rings.c"]);
    let variables = [("TALLY_LEAK_CHECK", "1"), ("TALLY_EPOCH_BYTES", "64KiB")];
    assert_eq!(folder.program(&variables, &[]), prints(0, SUM_OF_RINGS));
    let wrong = folder.program(&[("TALLY_EPOCH_BYTES", "some")], &[]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("TALLY_EPOCH_BYTES"), "{}", wrong.stderr);
}

#[test]
fn a_lowered_module_is_for_any_llvm_tool_and_can_be_built_but_not_lowered_again() {
    let folder = Folder::with(&[("rings.c", RINGS)]);
    for output in ["lowered.ll", "lowered.bc"] {
        assert_eq!(folder.tally(&["lower", "rings.c", "-o", output]), prints(0, ""));
        let again = folder.tally(&["lower", output, "-o", "twice.ll"]);
        assert_eq!(again.status, Some(2));
        assert!(again.stderr.contains("lowered"), "{}", again.stderr);
    }
    let text = folder.tally(&["lower", "rings.c", "-o", "-"]).stdout;
    assert!(std::fs::read_to_string(folder.path("lowered.ll")).unwrap() == text, "the same input, another output");
    assert!(text.contains("\"deopt\"("));
    for gone in ["call void @llvm.gcroot", "call void @llvm.gcwrite", "gc \"refcount\""] {
        assert!(!text.contains(gone), "{gone} is left");
    }
    let optimised = std::process::Command::new("opt-22")
        .args(["-O3", "lowered.bc", "-o", "optimised.bc"])
        .current_dir(folder.path("."))
        .status();
    assert!(optimised.unwrap().success());
    folder.build(&["--opt", "0", "optimised.bc"]);
    assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), prints(0, SUM_OF_RINGS));
    let run = folder.tally(&["run", "lowered.bc"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("use `tally build`"), "{}", run.stderr);
}

#[test]
fn maps_name_every_root_with_line_and_slot() {
    let folder = Folder::with(&[("rings.c", RINGS)]);
    let maps = folder.tally(&["maps", "--opt", "0", "rings.c"]);
    assert_eq!((maps.status, maps.stderr.as_str()), (Some(0), ""));
    let row = maps.stdout.lines().find(|line| line.starts_with("push ")).expect("a call in push");
    let cells: Vec<&str> = row.split_whitespace().collect();
    let ["push", offset, "rings.c:9", "list.addr", slot, "-"] = cells[..] else { panic!("{row}") };
    assert!(offset.starts_with("+0x"), "{row}");
    assert!(slot.starts_with("[r") && slot.ends_with(']'), "{row}");
}

#[test]
fn statistics_are_json_in_a_file() {
    let folder = Folder::with(&[("rings.c", RINGS)]);
    let ran = folder.tally(&["run", "--stats=stats.json", "--leak-check", "rings.c"]);
    assert_eq!(ran, prints(0, SUM_OF_RINGS));
    let text = std::fs::read_to_string(folder.path("stats.json")).unwrap();
    let stats: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in [
        "epochs",
        "pause_ns_max",
        "pause_ns_total",
        "allocated_objects",
        "allocated_bytes",
        "freed_objects",
        "live_objects",
        "live_bytes",
        "candidates",
        "trial_runs",
        "trial_edges",
        "cyclic_garbage_objects",
        "frames_walked",
        "roots_walked",
        "log_entries",
    ] {
        assert!(stats[key].is_u64(), "{key} in {text}");
    }
    assert_eq!(stats["allocated_objects"], 10_000);
    assert_eq!(stats["live_objects"], 0);
}

#[test]
fn statistics_are_a_table_on_standard_error() {
    let folder = Folder::with(&[("list.ll", LIST)]);
    let ran = folder.tally(&["run", "--stats", "list.ll"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(7), SUM_OF_LIST));
    assert!(ran.stderr.contains("epochs"), "{}", ran.stderr);
}

#[test]
fn a_heap_limit_ends_a_program_that_grows() {
    let folder = Folder::with(&[("grow.ll", &LIST.replace("i64 %i.next, 1000", "i64 %i.next, 10000000"))]);
    let ran = folder.tally(&["run", "--heap-limit", "2MiB", "grow.ll"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""));
    assert_ne!(ran.stderr, "");
}

#[test]
fn a_strategy_of_another_name_is_mapped() {
    let folder = Folder::with(&[("list.ll", &LIST.replace("gc \"refcount\"", "gc \"jblab-gc\""))]);
    assert_eq!(folder.tally(&["run", "--gc-name", "jblab-gc=refcount", "list.ll"]), prints(7, SUM_OF_LIST));
    let refused = folder.tally(&["run", "list.ll"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("jblab-gc"), "{}", refused.stderr);
}

/// `h(f(), g())`: the first result is in no root while the second is made.
const FORGOTTEN: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Box { struct Box *inner; long value; } Box;
TALLY_TYPE(Box, inner);
static Box *box(long value) {
    Box *made = TALLY_NEW(Box);
    made->value = value;
    return made;
}
static long add(Box *a, Box *b) { return a->value + b->value; }
int main(void) {
    long sum = add(box(1), box(2));
    printf("%ld\n", sum);
    return 0;
}
"#;

/// scenario 187.
#[test]
fn a_forgotten_root_is_warned_of_and_zeal_stops_at_it() {
    let folder = Folder::with(&[("forgotten.c", FORGOTTEN), ("rings.c", RINGS)]);
    let verified = folder.tally(&["verify", "forgotten.c"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    assert!(verified.stderr.contains("forgotten.c:13"), "{}", verified.stderr);
    assert!(verified.stderr.contains("@main"), "{}", verified.stderr);
    assert!(verified.stdout.starts_with("forgotten.c: no errors found, 1 warning; not seen: "), "{verified:?}");
    let denied = folder.tally(&["verify", "--deny-warnings", "forgotten.c"]);
    assert_eq!((denied.status, denied.stdout.as_str()), (Some(2), ""), "{denied:?}");
    assert!(denied.stderr.ends_with("tally: forgotten.c: 1 warning, and --deny-warnings\n"), "{denied:?}");
    for arguments in [&["verify", "rings.c"][..], &["verify", "--deny-warnings", "rings.c"]] {
        let clean = folder.tally(arguments);
        assert_eq!((clean.status, clean.stderr.as_str()), (Some(0), ""), "{clean:?}");
        assert!(clean.stdout.starts_with("rings.c: no errors found; not seen: what callees keep, "), "{clean:?}");
    }
    let stopped = folder.tally(&["run", "--zeal", "--opt", "0", "forgotten.c"]);
    assert_eq!(stopped.status, Some(5), "{stopped:?}");
    for word in ["add", "forgotten.c:11", "Box", "tally verify"] {
        assert!(stopped.stderr.contains(word), "{word} is missing in {}", stopped.stderr);
    }
    folder.build(&["--zeal", "--no-warnings", "forgotten.c"]);
    assert_eq!(folder.program(&[], &[]).status, Some(5), "a zeal executable needs no variable");
}

#[test]
fn run_and_build_say_in_a_line_that_a_file_looks_unrooted() {
    let twice = FORGOTTEN.replace("printf", "sum += add(box(3), box(4));\n    printf");
    let folder = Folder::with(&[("forgotten.c", twice.as_str()), ("rings.c", RINGS)]);
    let said = |outcome: &Outcome| outcome.stderr.lines().filter(|line| line.starts_with("tally: warning: ")).count();
    for command in [&["run", "forgotten.c"][..], &["build", "forgotten.c", "-o", "forgotten"]] {
        let outcome = folder.tally(command);
        assert_eq!((outcome.status, said(&outcome)), (Some(0), 1), "{outcome:?}");
        for words in ["forgotten.c:13: in @main: ", "sits in no root", " (and 1 more); `tally verify forgotten.c` "] {
            assert!(outcome.stderr.contains(words), "{words} is missing in {}", outcome.stderr);
        }
        let silenced = folder.tally(&[command, &["--no-warnings"]].concat());
        assert_eq!((silenced.status, silenced.stderr.as_str()), (Some(0), ""), "{silenced:?}");
    }
    assert_eq!(said(&folder.tally(&["run", "rings.c"])), 0);
}

#[test]
fn a_broken_contract_is_an_error_that_says_where() {
    let text = LIST.replace("gc \"refcount\"", "");
    let folder = Folder::with(&[("list.ll", text.as_str())]);
    for subcommand in ["run", "verify"] {
        let outcome = folder.tally(&[subcommand, "list.ll"]);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        let expected = "tally: list.ll: in @main: gcroot in a function without a gc strategy; add gc \"refcount\" to the function\n";
        assert_eq!(outcome.stderr, expected);
    }
}
