//! `cargo xtask replay`: what it takes, and what it answers. That it makes programs short, `shrink.rs` and
//! `toy_heap.rs` test; what it draws, `failure_report.rs`.

use std::process::{Command, Output};

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_replay")).args(arguments).output().expect("it starts")
}

fn says(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// A file with a program in a folder of its own, and what both are called.
fn file_with(text: &str) -> (tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.txt");
    std::fs::write(&file, text).expect("room");
    let names = [&file, folder.path()].map(|place| place.to_str().expect("a plain name").to_owned());
    (folder, names)
}

#[test]
fn a_program_that_passes_an_origin_and_a_seed_end_with_0() {
    let (_folder, [file, out]) = file_with("# setup prompt\nring pair x 3 r0\nset r0 = null\ncollect\n");
    for what in [&[&*file][..], &["sliced/17/42/50"], &["17", "--programs", "1", "--longest", "20", "--setup", "zeal"]]
    {
        let output = replay(&[what, &["--out", &*out]].concat());
        assert_eq!(output.status.code(), Some(0), "{what:?}: {}", says(&output));
        assert!(says(&output).contains("no difference"), "{what:?}: {}", says(&output));
    }
}

#[test]
fn what_is_no_program_ends_with_2_and_says_what_would_be_one() {
    let (_folder, [file, out]) = file_with("# setup prompt\nring pear x 3 r0\n");
    for (what, why) in [
        ("nowhere.txt", "SETUP/SEED/NUMBER/LONGEST"),
        ("slicd/17/42/50", "no setup is called `slicd`"),
        (&*file, "no kind is called `pear`"),
    ] {
        let output = replay(&[what, "--out", &out]);
        assert_eq!(output.status.code(), Some(2), "{what}: {}", says(&output));
        assert!(says(&output).contains(why), "{what}: {}", says(&output));
    }
    assert_eq!(replay(&[]).status.code(), Some(2));
}
