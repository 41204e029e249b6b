//! `ocaml` and `erlang`, compiled by stock `llc`: the tables that it writes name the roots.

use super::stock::{LEVELS, collects, llc, tool};
use tally_kit::folder::Folder;

/// A folder with the program of `super` as `list.ll`.
fn program(strategy: &str) -> Folder {
    Folder::with(&[("list.ll", &super::program(strategy))])
}

#[test]
fn objects_with_tables_of_offsets_are_linked() {
    for strategy in ["ocaml", "erlang"] {
        let folder = program(strategy);
        for (level, _) in LEVELS {
            for frames in ["--frame-pointer=none", "--frame-pointer=all"] {
                llc(&folder, "list", &[level, frames]);
                folder.build(&["list.o"]);
                collects(&folder, "500500\n", &format!("{strategy} {level} {frames}"));
            }
        }
        llc(&folder, "list", &["-relocation-model=static"]);
        folder.build(&["--no-pie", "list.o"]);
        collects(&folder, "500500\n", &format!("{strategy} at a fixed address"));
    }
}

#[test]
fn two_modules_of_ocaml_and_one_of_erlang_are_one_program() {
    let folder = Folder::with(&[("ocaml.ll", &super::program("ocaml")), ("erlang.ll", &super::program("erlang"))]);
    for (strategy, name) in [("ocaml", "cell"), ("erlang", "ring"), ("ocaml", "main")] {
        let (source, part) = (format!("{strategy}.ll"), format!("{name}.ll"));
        // Functions alone, or with the text that they print.
        let parts = [&format!("--func={name}"), "--glob=text"];
        let parts = if name == "main" { &parts[..] } else { &parts[..1] };
        tool(&folder, "llvm-extract-22", &[&["-S", &source, "-o", &part], parts].concat());
        llc(&folder, name, &["-O2"]);
    }
    folder.build(&["main.o", "cell.o", "ring.o"]);
    collects(&folder, "500500\n", "three objects");
}

#[test]
fn an_executable_without_its_erlang_tables_says_so() {
    let folder = program("erlang");
    llc(&folder, "list", &[]);
    folder.build(&["list.o"]);
    tool(&folder, "llvm-strip-22", &["--keep-section=.note.gc", "program"]);
    collects(&folder, "500500\n", "stripped of all else");
    tool(&folder, "llvm-strip-22", &["program"]);
    let outcome = folder.program(&[], &[]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("--keep-section=.note.gc"), "{}", outcome.stderr);
}
