//! Programs that once went wrong: each file in `tests/programs/` is a situation, run in every way against the same program
//! over `calloc`.
//!
//! A program that `random_programs` finds comes here, made short by hand and named after what it is about. It prints what
//! tells right from wrong, takes no arguments, and keeps the rules of `tally_gc.h`.

use std::path::PathBuf;

use tally_kit::tally_command::{source_tree, tally};
use tally_tests::random_program::trial::{Way, compare};

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn every_way() -> Vec<Way> {
    let levels = ["0", "1", "2", "3", "s"];
    let in_memory = levels.map(|level| Way::Run(texts(&["--opt", level, "--leak-check", "--epoch-bytes", "4KiB"])));
    let zeal = ["0", "2"].map(|level| Way::Zeal(texts(&["--opt", level])));
    // Code as users run it, on a heap that runs an epoch whenever it is asked for one.
    let built = ["0", "2"].map(|level| Way::Build(texts(&["--opt", level]), vec![("TALLY_ZEAL", "1")]));
    let all = [in_memory.to_vec(), zeal.to_vec(), built.to_vec()].concat();
    let prompt = all.iter().cloned().map(Way::prompt).collect();
    [all, prompt].concat()
}

#[test]
fn every_situation_does_what_it_does_without_tally() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut programs: Vec<PathBuf> = std::fs::read_dir(source_tree().join("tests/programs"))
        .expect("tests/programs is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    programs.sort();
    assert!(!programs.is_empty(), "tests/programs holds no program");
    for program in programs {
        let place = folder.path().join(program.file_name().expect("a file"));
        std::fs::copy(&program, &place).expect("the folder can be written to");
        match compare(tally(), &place, &every_way()) {
            Ok(None) => {}
            Ok(Some(difference)) => panic!("{}: {:?} {}", program.display(), difference.way, difference.what),
            Err(error) => panic!("{}: {error}", program.display()),
        }
    }
}
