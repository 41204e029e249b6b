//! What a message of zeal says: where, which object, where that was made, at which safepoint it died, and what is likely to be
//! wrong, in the words of the language the program is written in.

use super::{PLANS, run};
use std::process::Command;
use tally_kit::tally_command::{describe, run_tally};

const C: &str = r#"#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static Node *node(long value) {
    Node *made = TALLY_NEW(Node);
    made->value = value;
    return made;
}
static void work(void) {
    node(7);
}
int main(void) {
    Node *lost = node(42);
    work();
    printf("%ld\n", lost->value);
}
"#;

#[test]
fn a_dead_object_is_told_with_its_life() {
    for plan in PLANS {
        let output = run(plan, "0", "program.c", C);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{plan}: {}", describe(&output));
        for words in [
            "program.c:16: in function `main`: use of a dead object: the `Node` at 0x",
            "the field `value`, byte 8 of 16, died in epoch",
            "program.c:6: in function `node`\n    died:   in epoch",
            "likely: no root held it at that safepoint; name the variable in TALLY_ROOT",
        ] {
            assert!(message.contains(words), "{plan}: {words:?} expected in {message}");
        }
        // The first safepoint after its last protection: the call's own under the deferred plan.
        let died = message.lines().find(|line| line.contains("died:")).expect("said").to_owned();
        let lines = ["program.c:6:", "program.c:11:", "program.c:14:", "program.c:15:"];
        assert!(lines.iter().any(|line| died.contains(line)), "{plan}: {died}");
    }
}

const IR: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Pair\00"
@refs = private constant [1 x i32] [i32 0]
@pair = constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs,
                               i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
@there = global ptr null
define i32 @main() gc "refcount" {
  %1 = call ptr @tally_new(ptr @pair)
  %2 = call ptr @tally_new(ptr @pair)
  br label %3
3:
  WRONG
  ret i32 0
}
"#;

#[test]
fn ir_without_lines_is_told_by_value_and_block() {
    for plan in PLANS {
        let program = IR.replace("WRONG", "%4 = load i64, ptr %1");
        let output = run(plan, "0", "program.ll", &program);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{plan}: {}", describe(&output));
        for words in [
            "program.ll: in function `main`, %4 in block %3: use of a dead object: the `Pair`",
            "in function `main`, %1 in block %0\n    died:",
            "likely: no root held it at that safepoint; store the reference to an alloca that was given to llvm.gcroot",
        ] {
            // C's main is wrapped: the program's own has another name.
            let message = message.replace("`tally.main`", "`main`");
            assert!(message.contains(words), "{plan}: {words:?} expected in {message}");
        }
        // Through memory: what is certain to be such a store is refused before it runs.
        let store = "store ptr %2, ptr @there\n  %4 = load ptr, ptr @there\n  store ptr %4, ptr %2";
        let program = IR.replace("WRONG", store);
        let output = run(plan, "0", "program.ll", &program);
        let message = String::from_utf8_lossy(&output.stderr).replace("`tally.main`", "`main`");
        let words = "in function `main`, the store to %2 in block %3: plain store of a reference";
        assert!(message.contains(words) && message.contains("llvm.gcwrite(value, object, slot)"), "{plan}: {message}");
    }
}

const DESCRIBED: &str = r#"
@Pair = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Pair, !"size", i64 24, !"refs", !{i32 0, i32 8}, !"fields", !{i32 0, !"first", i32 8, !"second", i32 16, !"sum"}}
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
define i32 @main() gc "refcount" {
  %lost = call ptr @tally_new(ptr @Pair)
  %other = call ptr @tally_new(ptr @Pair)
  %sum = getelementptr i8, ptr %lost, i64 16
  %s = load i64, ptr %sum
  ret i32 0
}
"#;

#[test]
fn fields_of_described_types_are_named_without_debug_information() {
    for plan in PLANS {
        let output = run(plan, "0", "program.ll", DESCRIBED);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(5), "{plan}: {}", describe(&output));
        let words = "use of a dead object: the `Pair` at 0x";
        assert!(message.contains(words) && message.contains("the field `sum`, byte 16 of 24"), "{plan}: {message}");
    }
}

/// A breakpoint at the documented function finds the program where it went wrong.
#[test]
fn a_debugger_stops_at_a_violation() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, C).expect("room");
    let files = [source.to_str().expect("text"), "-o", program.to_str().expect("text")];
    let output = run_tally(&[&["build", "--zeal", "--opt", "0"], &files[..]].concat(), &[]);
    assert!(output.status.success(), "{}", describe(&output));
    let symbols = Command::new("nm").arg(&program).output().expect("nm of binutils");
    assert!(String::from_utf8_lossy(&symbols.stdout).contains("T tally_zeal_violation"));
    let commands = ["-ex", "break tally_zeal_violation", "-ex", "run", "-ex", "backtrace"];
    let Ok(output) = Command::new("gdb").args(["-nx", "-batch"]).args(commands).arg(&program).output() else {
        eprintln!("NOT TESTED: there is no gdb; the symbol is there");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !said.contains("Breakpoint 1,") && String::from_utf8_lossy(&output.stderr).contains("ptrace") {
        eprintln!("NOT TESTED: gdb may not trace here; the symbol is there");
        return;
    }
    assert!(said.contains("Breakpoint 1, ") && said.contains("main"), "{}", describe(&output));
}
