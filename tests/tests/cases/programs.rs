//! Programs that once went wrong: each file in `tests/programs/` is a situation, run in every way against the same program
//! over `calloc`.
//!
//! A program that `random_programs` finds comes here, made short by hand and named after what it is about. It prints what
//! tells right from wrong, takes no arguments, and keeps the rules of `tally_gc.h`.

use crate::trial;
use libtest_mimic::Trial;
use tally_kit::situation::Situation;
use tally_kit::tally_command::tally;
use tally_tests::random_program::trial::{Way, compare};

/// Each program in all ways.
pub fn trials() -> Vec<Trial> {
    let situations = Situation::all("tests/programs", 5).into_iter();
    situations.map(|program| trial(format!("programs::{}", program.name()), move || check(&program))).collect()
}

fn check(program: &Situation) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let place = folder.path().join(program.file.file_name().expect("a file"));
    std::fs::write(&place, &program.text).expect("the folder can be written to");
    match compare(tally(), &place, &every_way()) {
        Ok(None) => Ok(()),
        Ok(Some(difference)) => Err(format!("{:?} {}", difference.way, difference.what)),
        Err(error) => Err(error),
    }
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn every_way() -> Vec<Way> {
    let levels = ["0", "1", "2", "3", "s"];
    let in_memory = levels.map(|level| Way::Run(texts(&["--opt", level, "--leak-check", "--epoch-bytes", "4KiB"])));
    let on_the_heap = ["2", "3"].map(|level| {
        Way::Run(texts(&["--opt", level, "--stack-objects=off", "--leak-check", "--epoch-bytes", "4KiB"]))
    });
    let zeal = ["0", "2"].map(|level| Way::Zeal(texts(&["--opt", level])));
    // Code as users run it, on a heap that runs an epoch whenever it is asked for one.
    let built = ["0", "2"].map(|level| Way::Build(texts(&["--opt", level]), vec![("TALLY_ZEAL", "1")]));
    let all = [in_memory.to_vec(), on_the_heap.to_vec(), zeal.to_vec(), built.to_vec()].concat();
    let prompt = all.iter().cloned().map(Way::prompt).collect();
    [all, prompt].concat()
}
