//! What is typed wrong, and what `--help` says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use tally_kit::folder::{Folder, Outcome};
use tally_kit::tally_command::checked_tally;

#[test]
fn help_begins_with_what_tally_is_and_an_example() {
    let outcome = Folder::with(&[]).tally(&["--help"]);
    assert_eq!(outcome.status, Some(0));
    let first_screen: Vec<&str> = outcome.stdout.lines().take(24).collect();
    let first_screen = first_screen.join("\n");
    for word in ["Tally manages the memory", "tally run examples/", "run ", "build ", "lower ", "verify ", "maps "] {
        assert!(first_screen.contains(word), "{word} is missing in\n{first_screen}");
    }
}

#[test]
fn every_subcommand_has_help_with_examples() {
    for subcommand in ["run", "build", "lower", "verify", "maps"] {
        let outcome = Folder::with(&[]).tally(&[subcommand, "--help"]);
        assert_eq!(outcome.status, Some(0));
        assert!(outcome.stdout.contains(&format!("Examples:\n  tally {subcommand} ")), "{}", outcome.stdout);
    }
}

/// As `cargo install` leaves it: no library and no header is beside it.
#[test]
fn a_command_alone_runs_programs_and_says_where_its_other_parts_are() {
    let folder = Folder::with(&[("program.c", "#include <tally_gc.h>\nint main(void) { tally_collect(); }\n")]);
    std::fs::create_dir_all(folder.path("alone/bin")).unwrap();
    std::fs::copy(tally_kit::tally_command::checked_tally(), folder.path("alone/bin/tally")).unwrap();
    let alone = |words: &[&str]| folder.run("alone/bin/tally", words);
    assert_eq!(alone(&["run", "program.c"]), Outcome { status: Some(0), stdout: String::new(), stderr: String::new() });
    assert_eq!(alone(&["build", "program.c", "--emit", "obj", "-o", "program.o"]).status, Some(0));
    for (command, missing) in [("build", "libtally.a"), ("cc", "libtally_pass.so")] {
        let outcome = alone(&[command, "program.c", "-o", "program"]);
        assert_eq!(outcome.status, Some(2));
        assert!(outcome.stderr.contains(missing), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("`cargo xtask install --prefix DIR` installs"), "{}", outcome.stderr);
    }
}

#[test]
fn version_names_that_of_llvm() {
    let outcome = Folder::with(&[]).tally(&["--version"]);
    let expected = concat!("tally ", env!("CARGO_PKG_VERSION"), " (LLVM 22.");
    assert!(outcome.stdout.starts_with(expected), "{}", outcome.stdout);
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let outcome = folder.tally(&["completions", shell]);
        assert!(outcome.status == Some(0) && outcome.stdout.contains("leak-check"), "{shell}: {outcome:?}");
    }
    let outcome = folder.tally(&["man", "."]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for command in ["", "-run", "-build", "-cc", "-lower", "-verify", "-maps", "-completions", "-man"] {
        let page = std::fs::read_to_string(folder.path(&format!("tally{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    assert_eq!(folder.tally(&["man", "missing"]).status, Some(2));
    assert_eq!(folder.tally(&["completions", "tcsh"]).status, Some(2));
}

#[test]
fn bad_usage_is_status_2_and_names_the_mistake() {
    let folder = Folder::with(&[("a.ll", "define i32 @main() {\n  ret i32 0\n}\n")]);
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: tally"),
        (&["run"], "<FILE>"),
        (&["walk", "a.ll"], "walk"),
        (&["run", "--opt", "9", "a.ll"], "[possible values: 0, 1, 2, 3, s]"),
        (&["run", "--heap-limit", "big", "a.ll"], "`big` is not a size"),
        (&["run", "--epoch-bytes", "8 apples", "a.ll"], "`8 apples` is not a size"),
        (&["run", "--pause-goal", "5", "a.ll"], "`5` is not a time"),
        (&["run", "--gc-name", "mine", "a.ll"], "NAME=PLAN, with the plan refcount, refcount-prompt, trace"),
        (&["run", "--gc-name", "mine=marksweep", "a.ll"], "marksweep"),
        (&["build", "a.ll"], "--output <OUT>"),
        (&["lower", "a.ll"], "--output <OUT>"),
        (&["lower", "a.ll", "-o", "a.txt"], "a.txt: unknown kind of output"),
        (&["maps", "a.ll", "b.ll"], "b.ll"),
    ];
    for (arguments, expected) in cases {
        let outcome = folder.tally(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(expected), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_wrong_variable_is_named() {
    let folder = Folder::with(&[("a.ll", "define i32 @main() {\n  ret i32 0\n}\n")]);
    let outcome = folder.tally_with(&[("TALLY_HEAP_LIMIT", "lots")], &["run", "a.ll"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.starts_with("tally: TALLY_HEAP_LIMIT: `lots` is not a size"), "{}", outcome.stderr);
}

/// A byte that begins nothing in UTF-8: the variable was taken for one that is not there.
#[test]
fn a_variable_that_is_no_utf8_is_named_and_not_ignored() {
    let folder = Folder::with(&[("a.ll", "define i32 @main() {\n  ret i32 0\n}\n")]);
    for variable in ["TALLY_ZEAL", "TALLY_LEAK_CHECK", "TALLY_HEAP_LIMIT", "TALLY_PAUSE_GOAL", "TALLY_RESERVE"] {
        let mut command = folder.command(checked_tally());
        let output = command.args(["run", "a.ll"]).env(variable, OsStr::from_bytes(b"\xff")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(variable), "{variable}: {:?}: {said}", output.status);
    }
}
