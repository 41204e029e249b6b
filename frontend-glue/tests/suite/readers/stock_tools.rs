//! The bar: damaged stack maps that crash LLVM's own reader do not crash ours.
//!
//! LLVM's reader (`StackMapParser`) trusts every count. Each damaged section goes through `llvm-readobj --stackmap`
//! and through everything of ours that reads objects. How many crash it:
//! `TALLY_DAMAGE_SECTIONS=400 cargo test -p tally-llvm --test suite readers::stock -- --nocapture`. With LLVM 22.1.8: 147 of
//! 400; the rest it prints, what lies behind the section included, and refuses none.

use crate::readers::objects;
use stack_roots::{FrameTable, stack_map};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tally_kit::damage::budget::within;
use tally_kit::damage::mutation::Mutation;
use tally_llvm::emit::level::Level;
use tally_llvm::emit::object_file::{self, MapFormat};
use tally_llvm::maps::placed_object::PlacedObject;
use tally_llvm::maps::root_listing;

const READOBJ: &str = "llvm-readobj-22";

/// How a run of LLVM's reader ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Answered,
    Refused,
    Crashed,
    Endless,
}

/// LLVM's reader on a file, with a bound on what it may take: some counts keep it busy for hours.
fn readobj(file: &Path) -> Option<End> {
    let script = format!("ulimit -c 0; ulimit -t 2; ulimit -v 8000000; exec {READOBJ} --stackmap \"$0\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(file).env("LLVM_DISABLE_SYMBOLIZATION", "1");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    match (status.code(), status.signal()) {
        (Some(127), _) => None,
        (Some(0), _) => Some(End::Answered),
        (Some(_), _) => Some(End::Refused),
        (None, Some(libc::SIGXCPU | libc::SIGKILL)) => Some(End::Endless),
        (None, _) => Some(End::Crashed),
    }
}

/// scenario 191.
#[test]
fn damaged_sections_that_crash_stock_tools_are_refused_or_read() {
    let sections = std::env::var("TALLY_DAMAGE_SECTIONS").map_or(60, |count| count.parse::<u64>().expect("a number"));
    let whole = objects::compiled_as("rings.c", Level::O2, MapFormat::Llvm);
    let place = objects::section(&whole, object_file::STACK_MAPS);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.o");
    let mut ends = Vec::new();
    let mut read = 0;
    for input in 0..sections {
        let mut mutation = Mutation::new(input);
        let mut bytes = whole.clone();
        for _ in 0..1 + mutation.below(16) {
            mutation.change_in(&mut bytes, place.clone());
        }
        within(bytes.len(), 128, || {
            let map = stack_map::read(&bytes[place.clone()]);
            read += u64::from(map.is_ok());
            let _ = map.map(|map| FrameTable::build(&map, |function| Some(function.address)).is_ok());
            let _ = PlacedObject::read(&bytes).map(|placed| root_listing::list(&placed).is_ok());
        });
        std::fs::write(&file, &bytes).unwrap();
        match readobj(&file) {
            Some(end) => ends.push(end),
            None => return eprintln!("NOT COMPARED: there is no {READOBJ}; install LLVM 22's tools"),
        }
    }
    let count = |end| ends.iter().filter(|&&ended| ended == end).count();
    println!(
        "{sections} damaged sections: {READOBJ} crashed on {}, had to be stopped on {}, refused {}, printed {}; ours read \
         {read} and refused {}",
        count(End::Crashed),
        count(End::Endless),
        count(End::Refused),
        count(End::Answered),
        sections - read
    );
    assert!(sections < 60 || count(End::Crashed) > 0, "then the damage is too little to show anything");
}
