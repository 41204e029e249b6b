//! A folder with programs, the tools, and what a command line for the plugin consists of.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tally_kit::folder::Folder;
use tally_kit::tally_command::{checked_tally, describe, library, source_tree};

/// Two lists of two modules, of which one is dropped again and again.
pub const LIBRARY: &str = "\
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}
";
pub const PROGRAM: &str = "\
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
Node *push(Node *list, long value);
static Node *kept;
static long sum(Node *list) {
    long sum = 0;
    for (; list; list = list->next) sum += list->value;
    return sum;
}
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 1; i <= 2000; i++) {
        if (i % 100 == 0) list = NULL;
        list = push(list, i);
        if (i == 1050) TALLY_WRITE_GLOBAL(kept, list);
    }
    tally_collect();
    printf(\"%ld %ld\\n\", sum(list), sum(kept));
}
";
/// What the two print.
pub const SUMS: &str = "2000 52275\n";

/// The plugin of this build.
pub fn plugin() -> PathBuf {
    library("tally-pass", "libtally_pass.so")
}

/// The two modules in a folder.
pub fn two_modules() -> Folder {
    Folder::with(&[("library.c", LIBRARY), ("program.c", PROGRAM)])
}

/// Runs a tool in a folder; `$so` stands for the plugin in its arguments.
pub fn tool(folder: &Folder, line: &str) -> Output {
    let words: Vec<String> =
        line.split(' ').map(|word| word.replace("$so", plugin().to_str().expect("text"))).collect();
    let mut command = Command::new(&words[0]);
    if line.contains(".c ") && words[0].starts_with("clang") {
        command.arg("-I").arg(source_tree().join("aot-runtime/include"));
    }
    command.args(&words[1..]).env_remove("TALLY_PASS").current_dir(folder.path("."));
    command.output().unwrap_or_else(|error| panic!("{}: {error}", words[0]))
}

/// The same, and it must succeed without a word.
#[track_caller]
pub fn succeeds(folder: &Folder, line: &str) {
    let output = tool(folder, line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}\n{}", describe(&output));
}

/// Links objects, or what else clang links, with the runtime as a program that is position independent.
#[track_caller]
pub fn link(folder: &Folder, inputs: &str) {
    let runtime = checked_tally().with_file_name("libtally.a");
    let line = "clang-22 -fuse-ld=lld -pie -Wl,-z,text -o program";
    succeeds(folder, &format!("{line} {inputs} {} -lgcc_s -lpthread -ldl -lm", runtime.display()));
}

/// What the linked program prints; it has an epoch at every safepoint if `zeal`, and must leave nothing behind.
#[track_caller]
pub fn printed(folder: &Folder, zeal: bool) -> String {
    let mut command = Command::new(folder.path("program"));
    command.env("TALLY_LEAK_CHECK", "1");
    if zeal {
        command.env("TALLY_ZEAL", "1");
    }
    let output = command.output().expect("it was linked");
    // The list in the global is still there.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", describe(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// The standard error of a tool that fails, but does not crash.
#[track_caller]
pub fn refuses(folder: &Folder, line: &str) -> String {
    let output = tool(folder, line);
    assert_eq!(output.status.code(), Some(1), "{line}\n{}", describe(&output));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!said.contains("Stack dump"), "{line}\n{said}");
    said
}

/// The bytes of a file that a tool has made.
pub fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The text that a tool prints about a file.
pub fn listing(line: &str, file: &Path) -> String {
    let mut words = line.split(' ');
    let output = Command::new(words.next().expect("a tool")).args(words).arg(file).output().expect("it can be run");
    String::from_utf8(output.stdout).expect("text")
}
