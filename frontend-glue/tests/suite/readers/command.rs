//! `tally maps` on objects, whole and damaged, as a user meets it.

use crate::readers::objects;
use std::path::Path;
use std::process::{Command, Output};
use tally_kit::damage::mutation::Mutation;
use tally_kit::tally_command::checked_tally;
use tally_llvm::emit::level::Level;

fn maps(file: &Path) -> Output {
    Command::new(checked_tally()).arg("maps").arg(file).output().unwrap()
}

#[test]
fn an_object_is_listed_as_the_module_it_was_made_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rings.o");
    std::fs::write(&file, objects::compiled("rings.c", Level::O0)).unwrap();
    let listed = maps(&file);
    assert!(listed.status.success(), "{listed:?}");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/rings.c");
    let mut command = Command::new(checked_tally());
    let compiled = command.args(["maps", "--opt", "0"]).arg(source).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.lines().count() > 10 && text.contains("rings.c:"), "{text}");
    assert_eq!(text, String::from_utf8(compiled.stdout).unwrap());
}

#[test]
fn damaged_objects_are_listed_or_refused_with_the_file_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.o");
    let whole = objects::compiled("nan_boxed.c", Level::O2);
    let places = objects::places(&whole);
    let mut refused = 0;
    for input in 0..60 {
        let mut mutation = Mutation::new(input);
        let mut bytes = whole.clone();
        for _ in 0..1 + mutation.below(6) {
            let place = places[mutation.below(places.len())].clone();
            // The first four bytes say what the file is.
            mutation.change_in(&mut bytes, place.start.max(4)..place.end);
        }
        std::fs::write(&file, &bytes).unwrap();
        let outcome = maps(&file);
        let message = String::from_utf8(outcome.stderr).unwrap();
        match outcome.status.code() {
            Some(0) => assert_eq!(message, "", "input {input}"),
            Some(2) => {
                refused += 1;
                let begins = format!("tally: {}: ", file.display());
                assert!(message.starts_with(&begins) && message.lines().count() == 1, "input {input}: {message}");
            }
            _ => panic!("input {input}: {:?} {message}", outcome.status),
        }
    }
    assert!(refused > 5, "{refused} of 60 were refused: the damage is too little to show anything");
}

#[test]
fn what_is_linked_is_refused_with_advice() {
    let refused = maps(checked_tally());
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(message.contains("is linked already; name the .o file"), "{message}");
}
