//! The frontends of `examples/frontends`: each compiles the same program, which prints the same.

use crate::host::llvm;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tally_kit::folder::Folder;
use tally_kit::tally_command::{checked_tally, describe, example, library, source_tree};

const PLANS: [&str; 3] = ["refcount", "refcount-prompt", "trace"];

fn source(name: &str) -> PathBuf {
    source_tree().join("examples/frontends").join(name)
}

fn expected() -> String {
    std::fs::read_to_string(source("expected.txt")).expect("it is in the tree")
}

#[track_caller]
fn stdout(command: &mut Command) -> String {
    let output: Output = command.env_remove("TALLY_COMMAND").output().expect("it was built");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", describe(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn compile(tool: &str, words: &[&str], files: &[PathBuf]) {
    let built = Command::new(tool).args(["-Wall", "-Wextra", "-Werror", "-g"]).args(files).args(words).output();
    let built = built.expect("clang 22 can be run");
    assert!(built.status.success(), "{}", describe(&built));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn frontend_in_rust() {
    let tiny = example("tally-llvm", "tiny");
    let run = |words: &[&str]| stdout(Command::new(&tiny).arg(source("program.tiny")).args(words));
    for words in [&[][..], &["prompt"], &["trace"], &["typed"], &["prompt", "typed"]] {
        assert_eq!(run(words), expected(), "{words:?}");
        let zeal = stdout(Command::new(&tiny).arg(source("program.tiny")).args(words).env("TALLY_ZEAL", "1"));
        assert_eq!(zeal, expected(), "{words:?}");
    }
}

#[test]
fn frontend_in_c_that_writes_text() {
    let folder = Folder::with(&[]);
    let (tiny, program) = (folder.path("tiny"), folder.path("program.ll"));
    compile("clang-22", &["-std=c11", "-D_GNU_SOURCE", "-o", text(&tiny)], &[source("text.c")]);
    std::fs::write(&program, stdout(Command::new(&tiny).arg(source("program.tiny")))).expect("writable");
    let tally = |words: &[&str]| {
        let mut command = Command::new(checked_tally());
        command.args(words).args([&program, &source("runtime.c")]);
        stdout(&mut command)
    };
    for plan in PLANS {
        for more in [&["--opt", "0"][..], &["--opt", "3"], &["--zeal"]] {
            assert_eq!(tally(&[&["run", "--plan", plan], more].concat()), expected(), "{plan} {more:?}");
        }
        let executable = folder.path("program");
        assert_eq!(tally(&["build", "--plan", plan, "-o", text(&executable)]), "");
        assert_eq!(stdout(&mut Command::new(&executable)), expected(), "{plan}");
    }
}

/// Its JIT removes the program's code and adds it again, at the same addresses as a rule: the runtime must have forgotten the first.
#[test]
fn frontend_in_cpp_with_a_jit_of_its_own() {
    let folder = Folder::with(&[]);
    let include = |place: &str| format!("-I{}", source_tree().join(place).display());
    let (runtime, tiny) = (folder.path("runtime.o"), folder.path("tiny"));
    let words = ["-std=c11", &include("aot-runtime/include"), "-c", "-o", text(&runtime)];
    compile("clang-22", &words, &[source("runtime.c")]);
    let library = library("tally-c", "libtally_llvm.so");
    let beside = text(library.parent().expect("a folder"));
    let headers = llvm().join("include");
    let words = [
        "-std=c++17",
        &include("c-api/include"),
        "-isystem",
        text(&headers),
        &format!("-L{beside}"),
        "-ltally_llvm",
        &format!("-L{}", llvm().join("lib").display()),
        "-lLLVM-22",
        &format!("-Wl,-rpath,{beside}"),
        "-rdynamic",
        "-o",
        text(&tiny),
    ];
    compile("clang++-22", &words, &[source("orc.cpp"), runtime.clone()]);
    let twice = expected().repeat(2);
    for plan in PLANS {
        for level in ["O0", "O2"] {
            let run = || {
                let mut command = Command::new(&tiny);
                command.arg(source("program.tiny")).args([&format!("plan={plan}"), level]);
                command
            };
            assert_eq!(stdout(&mut run()), twice, "{plan} {level}");
            assert_eq!(stdout(run().env("TALLY_ZEAL", "1")), twice, "{plan} {level}");
        }
    }
}
