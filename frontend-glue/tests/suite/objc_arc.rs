//! LLVM's ObjCARC optimiser as an outside model: what it leaves of the counts of a function, and what we do.
//!
//! `objc_arc/objc.ll` holds functions with `objc_retain` and `objc_release`, `objc_arc/tally.ll` the same with roots and writes.
//! The table of docs/port/counts.md is this test's.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use std::path::Path;
use std::process::Command;
use tally_llvm::lower::{LowerOptions, lower};

/// Function, counts that change in it after `opt -passes=objc-arc`, and after our patterns (increments and decrements).
const TABLE: [(&str, usize, usize); 9] = [
    ("nothing_between", 0, 0),
    ("quiet_call", 0, 0),
    ("held_across_calls", 2, 2),
    ("in_a_loop", 0, 0),
    ("diamond", 0, 0),
    ("returned", 2, 0),
    ("to_a_global", 2, 2),
    // We are behind: each root owns what it holds at a safepoint, also if another root holds the same.
    ("two_holders", 2, 4),
    ("of_null", 0, 0),
];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objc_arc")
}

/// How many lines of a function hold one of these words.
fn count(text: &str, function: &str, words: &[&str]) -> usize {
    let start = text.find(&format!("@{function}(")).unwrap_or_else(|| panic!("no @{function} in\n{text}"));
    let body = text[start..].split("\n}").next().unwrap();
    body.lines().filter(|line| words.iter().any(|word| line.contains(word))).count()
}

#[test]
fn what_the_objc_arc_optimiser_leaves_is_known() {
    let outcome = Command::new("opt-22").args(["-passes=objc-arc", "-S"]).arg(folder().join("objc.ll")).output();
    let Ok(outcome) = outcome else { return println!("skipped: there is no opt-22 (Debian: apt install llvm-22)") };
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    let text = String::from_utf8(outcome.stdout).unwrap();
    for (function, theirs, _) in TABLE {
        let found = count(&text[text.find("define").unwrap()..], function, &["@llvm.objc.re", "@llvm.objc.auto"]);
        assert_eq!(found, theirs, "@{function} in\n{text}");
    }
}

/// scenarios 131, 132.
#[test]
fn what_we_leave_is_known() {
    let context = Context::create();
    let text = std::fs::read(folder().join("tally.ll")).unwrap();
    let module = context.create_module_from_ir(MemoryBuffer::create_from_memory_range_copy(&text, "tally.ll")).unwrap();
    lower(&module, &LowerOptions { stop_at_counts: true, ..LowerOptions::default() }).unwrap();
    let text = module.print_to_string().to_string();
    let changes =
        ["tally.count.own(", "tally.count.increment(", "tally.count.drop(", "tally.count.release(", "@llvm.gcwrite("];
    for (function, _, ours) in TABLE {
        assert_eq!(count(&text[text.find("define").unwrap()..], function, &changes), ours, "@{function} in\n{text}");
    }
}

#[test]
fn the_documentation_says_the_same() {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/port/counts.md")).unwrap();
    for (function, theirs, ours) in TABLE {
        assert!(
            docs.contains(&format!("| `{function}` | {theirs} | {ours} |")),
            "docs/port/counts.md: {function} {theirs} {ours}"
        );
    }
}
