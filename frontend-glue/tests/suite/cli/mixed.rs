//! Programs of several modules of which only some have gc functions.

use tally_kit::folder::{Folder, Outcome};

/// Calls back into gc code through a plain function that cannot throw and has no reason for an unwind table.
const PLAIN: &str = "define i64 @call(ptr %f, i64 %n) nounwind {\n  %r = call i64 %f(i64 %n)\n  %s = add i64 %r, 1\n  ret i64 %s\n}\n\
    declare i64 @work(i64)\ndefine i32 @main() nounwind {\n  %r = call i64 @work(i64 40)\n  %s = trunc i64 %r to i32\n  ret i32 %s\n}\n";

const MANAGED: &str = r#"
#include <tally_gc.h>
typedef struct Cell { struct Cell *next; long value; } Cell;
TALLY_TYPE(Cell, next);
long call(long (*f)(long), long n);
static long churn(long n) {
    Cell *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < 1000; i++) {
        Cell *cell = TALLY_NEW(Cell);
        cell->value = i;
        TALLY_WRITE(cell, next, list);
        list = cell;
    }
    tally_collect();
    return n + list->value - 999;
}
long work(long n) {
    Cell *mine = TALLY_NEW(Cell);
    TALLY_ROOT(mine);
    mine->value = n;
    long r = call(churn, 1);
    return mine->value + r;
}
"#;

#[test]
fn a_plain_main_runs_inside_the_runtime_and_plain_frames_are_crossed() {
    let folder = Folder::with(&[("plain.ll", PLAIN), ("managed.c", MANAGED)]);
    let expected = Outcome { status: Some(42), stdout: String::new(), stderr: String::new() };
    for level in ["0", "2"] {
        let arguments = ["run", "--leak-check", "--epoch-bytes", "64KiB", "--opt", level, "plain.ll", "managed.c"];
        assert_eq!(folder.tally(&arguments), expected, "--opt {level}");
    }
    folder.build(&["managed.c", "plain.ll"]);
    assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), expected);
    let zeal = folder.tally(&["run", "--zeal", "--opt", "2", "plain.ll", "managed.c"]);
    assert_eq!(zeal, expected);
}

/// What is mapped to Tally's strategy is lowered, and no longer LLVM's.
#[test]
fn llvms_shadow_stack_can_be_mapped_to_either_plan() {
    let text = "declare void @llvm.gcroot(ptr, ptr)\ndefine i32 @main() gc \"shadow-stack\" {\n  %root = alloca ptr\n  \
        call void @llvm.gcroot(ptr %root, ptr null)\n  ret i32 0\n}\n";
    let folder = Folder::with(&[("shadow.ll", text)]);
    let expected = Outcome { status: Some(0), stdout: String::new(), stderr: String::new() };
    for name in ["shadow-stack=refcount", "shadow-stack=refcount-prompt"] {
        for level in ["0", "2"] {
            assert_eq!(folder.tally(&["run", "--gc-name", name, "--opt", level, "shadow.ll"]), expected);
        }
    }
}

/// Roots that Tally does not read, and objects that another module of the program makes.
const UNREAD: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare ptr @make()\ndefine i32 @main() gc \"STRATEGY\" {\n  \
    %root = alloca ptr\n  call void @llvm.gcroot(ptr %root, ptr null)\n  %o = call ptr @make()\n  store ptr %o, ptr %root\n  \
    ret i32 0\n}\n";
const UNTYPED: &str = "declare ptr @llvm_gc_allocate(i32)\ndefine ptr @make() {\n  %o = call ptr @llvm_gc_allocate(i32 16)\n  \
    ret ptr %o\n}\n";
const GIVEN: &str = "define ptr @make() gc \"refcount\" {\n  ret ptr null\n}\n";

#[test]
fn objects_of_one_module_in_roots_of_another_that_tally_does_not_read() {
    for strategy in ["ocaml", "erlang", "statepoint-example", "coreclr"] {
        let unread = UNREAD.replace("STRATEGY", strategy);
        let folder = Folder::with(&[("unread.ll", &unread), ("untyped.ll", UNTYPED), ("given.ll", GIVEN)]);
        let advice = match strategy {
            "ocaml" | "erlang" => format!("let Tally compile it: --gc-name {strategy}=trace\n"),
            _ => format!(
                "put statepoints in by opt -passes=rewrite-statepoints-for-gc, or give its functions gc \"refcount\": --gc-name {strategy}=refcount\n"
            ),
        };
        let says = |files: &[&str], message: &str| {
            for command in [&["run"][..], &["build", "-o", "program"]] {
                let Outcome { status, stdout, stderr } = folder.tally(&[command, files].concat());
                assert_eq!((status, stdout.as_str()), (Some(2), ""), "{stderr}");
                assert!(stderr.contains(&format!("{message}; {advice}")), "{files:?}: {stderr}");
            }
        };
        let untyped = format!(
            "untyped.ll: in @make: @llvm_gc_allocate allocates on Tally's heap, but Tally cannot read roots of gc \
             \"{strategy}\" in @main of unread.ll"
        );
        says(&["unread.ll", "untyped.ll"], &untyped);
        says(&["untyped.ll", "unread.ll"], &untyped);
        let given = format!(
            "unread.ll: in @main: Tally cannot read roots of gc \"{strategy}\", and given.ll allocates on \
             Tally's heap"
        );
        says(&["unread.ll", "given.ll"], &given);
    }
    for strategy in ["ocaml", "erlang"] {
        let mapped = format!("{strategy}=trace");
        let folder = Folder::with(&[("unread.ll", &UNREAD.replace("STRATEGY", strategy)), ("untyped.ll", UNTYPED)]);
        assert_eq!(folder.tally(&["run", "--gc-name", &mapped, "unread.ll", "untyped.ll"]).status, Some(0));
    }
    let shadow = UNREAD.replace("STRATEGY", "shadow-stack");
    let folder = Folder::with(&[("unread.ll", &shadow), ("untyped.ll", UNTYPED)]);
    assert_eq!(folder.tally(&["run", "unread.ll", "untyped.ll"]).status, Some(0));
}
