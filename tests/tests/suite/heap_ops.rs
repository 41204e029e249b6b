//! Op programs out of any text, as the fuzz target `heap_ops` makes them: its corpus, and edits to it. The seeds are the
//! same each time; `TALLY_DAMAGE_SECONDS=600 cargo test --release -p tally-tests --test suite heap_ops::` goes on
//! for longer.

use std::path::Path;
use tally_kit::damage::budget::each_input;
use tally_kit::dice::Dice;
use tally_tests::op_text;
use tally_tests::setup::{check, check_taste_in_every_setup, setups};
use tally_tests::strategies::Taste;

/// Edited programs of one test run.
const PROGRAMS: u64 = 1000;

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/heap_ops");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Lines of one program among those of another, repeated, swapped, with other numbers, in any setup.
fn edit(corpus: &[String], dice: &mut Dice) -> String {
    let mut lines: Vec<String> = dice.pick(corpus).lines().skip(1).map(str::to_owned).collect();
    let others: Vec<&str> = dice.pick(corpus).lines().skip(1).collect();
    for _ in 0..2 + dice.below(30) {
        let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
        match dice.below(4) {
            0 => lines.insert(at, (*dice.pick(&others)).to_owned()),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            _ => {
                let number = dice.below(20).to_string();
                let digits: Vec<usize> =
                    lines[at].match_indices(|letter: char| letter.is_ascii_digit()).map(|(at, _)| at).collect();
                if !digits.is_empty() {
                    let digit = *dice.pick(&digits);
                    lines[at].replace_range(digit..digit + 1, &number);
                }
            }
        }
    }
    let setups = setups();
    format!("{}\n{}\n", dice.pick(&setups).name, lines.join("\n"))
}

#[test]
fn the_corpus_of_the_fuzz_target_agrees_with_the_model() {
    let corpus = corpus();
    let ops: usize = corpus.iter().map(|text| op_text::check(text.as_bytes())).sum();
    assert!(corpus.len() >= 8 && ops > 80, "{ops} ops are next to nothing");
}

#[test]
fn edited_programs_agree_with_the_model() {
    let corpus = corpus();
    let (mut inputs, mut ops) = (0, 0);
    each_input("op programs", PROGRAMS, |input| {
        ops += op_text::check(edit(&corpus, &mut Dice::new(input)).as_bytes());
        inputs += 1;
    });
    assert!(ops > 5 * inputs, "{ops} ops of {inputs} inputs");
}

/// An ephemeron is logged with its block, loses its key, and then dies in the same epoch: what it held is the log's to release.
#[test]
fn ephemeron_in_a_block_that_was_logged_dies_after_its_key() {
    check(
        "ring traced x 84 r2\nallocate keyed 0 r2\nallocate pair 0 r4\nflip\nhandle r1\nephemeron r10 = r4 r2\nepoch\nallocate records 0 r0\n\
         write r0.0 = r10\nwrite r4.0 = r0\npeek-handle 23 r2\nflip\nring link x 1 r0\nallocate pair 0 r4\nweak-called r1 = r4\n\
         allocate keyed 0 r10\nupgrade r14 = r1.0\ntoggle r15.0 r15 x 6\nflip\nfill r14.0 x 1 = r2\n",
    );
}

/// A young key dies while increments are pending: what its ephemeron held waits for the next flip as if held by a root. A cycle that waits
/// so was alive for the mark of the collection.
#[test]
fn cycle_that_an_ephemeron_with_a_dead_young_key_holds_is_collected() {
    let program = "allocate leaf 0 r2\nring pair x 1 r1\nephemeron r0 = r2 r1\nset r1 = null\nset r2 = null\n";
    check(&format!("{program}collect\n"));
    check(&format!("{program}{}", "part\n".repeat(40)));
}

/// Every setup, with programs that do little else than to open, to write and to close.
#[test]
fn open_objects_agree_with_the_model_in_every_setup() {
    check_taste_in_every_setup(Taste::Open);
}

/// A collector that is stopped calls nobody: one call stands for the two targets that a weak reference has lost meanwhile.
#[test]
fn callback_of_a_weak_reference_that_is_set_anew_before_its_call_comes_once() {
    check(
        "stop\nallocate pair 0 r1\nweak-called r12 = r1\nset r1 = null\nepoch\nallocate pair 0 r0\nweak-write r12.0 = r0\nset r0 = null\n\
         collect\n",
    );
}

/// A flip logs the objects that are open, and not the blocks in which they lie: garbage beside them, named by each log, kept what it referred
/// to alive in the mark of a collection.
#[test]
fn garbage_beside_an_open_object_is_collected() {
    check("ring tagged x 1 r4\nopen 1 = r4\nhub x 0 r3\nflip\nlist aligned-16 x 1 r2\nload r3 = r2.0\ncollect\n");
}

/// A second file died after the end of the epoch that had found a first one, while that one's finalizer waited for a safepoint. Both ran then;
/// the second brought itself back, with a third that had died with it and was found only afterwards.
#[test]
fn finalizer_does_not_run_before_all_that_died_with_its_object_are_found() {
    check(
        "ring medium x 6 r1\nallocate-into r1.1 file 0\nfinalizable file keep 1 r4\nfail 3\nswap r1.4 r4.0\ngenerator x 1 r14\n\
         finalizable file nothing r4\nallocate triple 0 r4\nallocate traced 0 r0\nload r1 = r0.0\nlist medium x 25 r3\n",
    );
}

/// An ephemeron holds the owner for the sake of what it owns: a ring, of which all are finalized, in any order.
#[test]
fn owner_that_an_ephemeron_holds_for_what_it_owns_is_in_a_ring_with_it() {
    check(
        "finalizable owner nothing r1\nfinalizable owner nothing r2\nwrite r2.0 = r1\nephemeron r0 = r1 r2\nset r1 = null\nset r2 = null\ncollect\n",
    );
}

/// A finalizer allocates, which is a collection inside it. That found what another owner, whose finalizer was to run next, had left to a later
/// set: it ran although the owner had registered itself anew.
#[test]
fn collection_inside_a_finalizer_leaves_what_waiting_owners_own() {
    check(
        "finalizable owner again 1 r0\npush r0\nfinalizable owner allocate r6\nallocate owner 0 r7\npeek 9 r10\nforget r0\n\
         finalizable file nothing r0\nregister r10\npeek 15 r0\nfill r0.0 x 1 = r7\n",
    );
}

/// The same of a collection in slices, which a finalizer's poll has done: an owner that was to run next brought itself back.
#[test]
fn collection_in_slices_inside_a_finalizer_leaves_what_waiting_owners_own() {
    check(
        "stop\nfinalizable file nothing r0\nfinalizable owner keep 2 r1\nfinalizable owner poll r3\nallocate requested 0 r3\n\
         finalizable file hang 2 r4\nallocate-into r0.1 owner 0\nswap r4.0 r0.1\ntree 1 r1\nhub x 252 r4\nepoch\npart\nlist medium x 1 r4\n\
         restart\nfinalizable owner hang 1 r11\n",
    );
}

/// An owner of another order registers itself anew, time and again; those that waited for it once do not wait for ever, and run in their order.
#[test]
fn owners_below_one_of_another_order_run_in_their_order() {
    check(
        "allocate owner 0 r7\nfinalizable owner panic r2\nfinalizable newest again 3 r4\nwrite r4.0 = r2\nwrite r2.0 = r7\n",
    );
}

/// A collection in slices has set the unlogged bits of the hole in which the entry was made; its words are written without a barrier all the same.
#[test]
fn entry_of_a_weak_map_is_made_where_a_collection_in_slices_has_set_unlogged_bits() {
    check(
        "list medium x 116 r4\nallocate link 0 r7\nweak-map values r12\ntree 4 r1\nmap-set r12 r1 = r1\nepoch\nflip\nweak-map both r13\n\
         turns x 8\nmap-set r12 r13 = r7\n",
    );
}

/// New objects that a mark in slices comes to, in a block whose live bits it has kept, were counted twice: there were more survivors than
/// objects.
#[test]
fn new_object_that_a_mark_in_slices_has_reached_survives_once() {
    check(
        "garbage pair 0 x 7\nfinalizable owner hang 2 r0\nallocate owner 0 r4\nepoch\nallocate file 0 r2\nring medium x 1 r3\n\
         allocate newest 0 r14\nallocate newest 0 r1\nweak r1 = r0\nallocate pair 0 r4\npart\nfinalizable file again 3 r15\n\
         hub x 15 r0\nallocate pair 0 r3\nfinalizable requested panic r0\nepoch\nfinalizable owner allocate r4\nhub x 197 r1\n\
         garbage triple 0 x 170\nallocate-into r4.0 owner 0\nallocate file 0 r2\ntree 5 r1\nring triple x 103 r1\n\
         finalizable file write 3 r0\nhub x 90 r3\nwrite r0.0 = r3\nfinalizable newest panic r3\nlist link x 235 r2\n\
         allocate requested 0 r3\nload r0 = r1.0\nhub x 397 r1\ntoggle r2.0 r8 x 6\n",
    );
}

/// The value of an entry is dead when its owner's finalizer is due, and reachable when that has run: the entry has gone before, and what only its
/// key held with it. The model kept the entry, and asked for the key.
#[test]
fn key_of_an_entry_that_went_before_a_finalizer_kept_its_value() {
    check(
        "allocate link 0 r2\nweak-map values r12\nallocate boxed 0 r0\nweak r1 = r0\nweak-called r4 = r1\nfinalizable owner keep 3 r5\n\
         hub x 0 r1\nwrite r1.0 = r4\nmap-set r12 r2 = r4\nephemeron r4 = r5 null\nupgrade r3 = r4.0\nwrite r3.0 = r1\n\
         map-get r1 = r12 r0\nlist medium x 1 r3\nallocate link 0 r2\nlist pair x 1 r5\n",
    );
}
