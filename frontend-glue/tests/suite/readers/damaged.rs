//! Real objects, damaged at random, mostly where it tells.

use crate::readers::objects;
use std::path::Path;
use tally_kit::checks::object as fuzzed_object;
use tally_kit::damage::budget::{each_input, within};
use tally_kit::damage::mutation::Mutation;
use tally_llvm::emit::object_file;
use tally_llvm::maps::placed_object::PlacedObject;
use tally_llvm::maps::root_listing;

/// How many times its bytes reading an object may cost: a byte of a line program can make a line of 32 bytes, in a table
/// that grows by doubling.
const FACTOR: usize = 128;

#[derive(Debug, Default)]
struct Seen {
    finished: u64,
    placed: u64,
    listed: u64,
    calls: u64,
    lines: u64,
}

/// Everything that reads objects, on one; what is refused is refused in a sentence.
fn read(bytes: &[u8], seen: &mut Seen) {
    let refused = |message: String| assert!(message.len() < 500 && !message.contains('\n'), "{message}");
    let mut finished = bytes.to_vec();
    match object_file::finish(&mut finished) {
        Ok(()) => seen.finished += 1,
        Err(error) => refused(error.to_string()),
    }
    assert_eq!(finished.len(), bytes.len());
    let placed = match PlacedObject::read(bytes) {
        Ok(placed) => placed,
        Err(error) => return refused(error.to_string()),
    };
    seen.placed += 1;
    match root_listing::list(&placed) {
        Ok(calls) => {
            seen.listed += 1;
            seen.calls += calls.len() as u64;
            seen.lines += calls.iter().filter(|call| call.line.is_some()).count() as u64;
        }
        Err(error) => refused(error.to_string()),
    }
}

#[test]
fn damaged_objects_are_finished_placed_and_listed_or_refused() {
    let objects = objects::real();
    let places: Vec<_> = objects.iter().map(|object| objects::places(object)).collect();
    let mut seen = Seen::default();
    for object in &objects {
        within(object.len(), FACTOR, || read(object, &mut seen));
    }
    let all = objects.len() as u64;
    assert_eq!((seen.finished, seen.placed, seen.listed), (all, all, all));
    assert!(seen.calls > 100 && seen.lines > 100, "{seen:?}");
    let mut inputs = 0;
    each_input("objects", 2500, |input| {
        let mut mutation = Mutation::new(input);
        let which = input as usize % objects.len();
        let mut bytes = objects[which].clone();
        for _ in 0..1 + mutation.below(6) {
            let place = places[which][mutation.below(places[which].len())].clone();
            mutation.change_in(&mut bytes, place);
        }
        if mutation.below(6) == 0 {
            mutation.rearrange(&mut bytes);
        }
        within(bytes.len(), FACTOR, || read(&bytes, &mut seen));
        inputs += 1;
    });
    println!("  {seen:?}");
    // Or the damage is so crude that nothing behind the first check is tried.
    assert!(inputs < 100 || seen.listed > inputs / 20 && seen.placed > seen.listed, "{inputs}: {seen:?}");
}

/// What the fuzz target has come to so far, and the objects that it began with.
#[test]
fn corpus_of_the_fuzz_target_is_listed_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/object");
    let (mut inputs, mut listed) = (0, 0);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let calls = within(bytes.len(), FACTOR, || fuzzed_object::check(&bytes));
        (inputs, listed) = (inputs + 1, listed + usize::from(calls.is_some_and(|calls| calls > 0)));
    }
    assert!(inputs >= 10 && listed >= 1, "{listed} of {inputs}");
}
