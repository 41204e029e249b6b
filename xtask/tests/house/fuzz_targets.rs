//! A check that only `cargo fuzz` runs would run on few machines: the first lines of each target name a file of tests that
//! calls the same check, and the file does.

use crate::sources::{Source, sources};

const FOLDER: &str = "fuzz/fuzz_targets/";

/// The module of the check that a target calls.
fn check_of(target: &Source) -> Option<&str> {
    let (_, import) = target.text.split_once("use tally_")?;
    import.split_once(';')?.0.rsplit("::").next()
}

#[test]
fn tests_of_every_day_call_the_check_of_each_fuzz_target() {
    let all = sources();
    let targets: Vec<&Source> = all.iter().filter(|file| file.path.starts_with(FOLDER)).collect();
    assert!(targets.len() > 6, "the targets were not read");
    let mut complaints = Vec::new();
    for target in targets {
        let head = target.text.lines().take_while(|line| line.starts_with("//!")).collect::<String>();
        let named = head.split('`').find(|word| word.ends_with(".rs"));
        let tests = named.and_then(|path| all.iter().find(|file| file.path == path));
        // A target that imports nothing calls a function of the library by its path.
        let check = check_of(target).unwrap_or("parse_command_line");
        if !tests.is_some_and(|file| file.text.contains(check)) {
            complaints.push(format!("{}: names no file of tests that calls `{check}`", target.path));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
