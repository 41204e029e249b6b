//! Damaged type descriptors, and the corpus of the fuzz target: refused, or objects are read within their bounds. For longer:
//! `TALLY_DAMAGE_SECONDS=600 cargo test -p tally-heap --test suite damaged_descriptors:: -- --nocapture`.

use std::path::Path;
use tally_kit::checks::descriptor;
use tally_kit::damage::budget::{each_input, within};
use tally_kit::damage::mutation::Mutation;

/// Those that somebody has written are accepted: of plain references, with a tail, tagged, NaN-boxed, by a trace
/// function, an ephemeron. Those that fuzzing has found are refused, each at another place, or accepted.
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/descriptor");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn damaged_descriptors_are_refused_or_describe_what_lies_inside_an_object() {
    let (sound, refused): (Vec<_>, Vec<_>) = corpus().into_iter().partition(|bytes| descriptor::check(bytes));
    assert!(sound.len() >= 6 && refused.len() >= 6, "{} are accepted, {} refused", sound.len(), refused.len());
    let (mut inputs, mut accepted) = (0, 0);
    each_input("descriptors", 400_000, |input| {
        let mut mutation = Mutation::new(input);
        let mut bytes = sound[input as usize % sound.len()].clone();
        for _ in 0..1 + mutation.below(3) {
            let all = 0..bytes.len();
            mutation.change_in(&mut bytes, all);
        }
        accepted += u64::from(within(PAYLOAD + bytes.len(), 8, || descriptor::check(&bytes)));
        inputs += 1;
    });
    assert!(
        inputs < 1000 || accepted > inputs / 50 && accepted < inputs / 10 * 9,
        "{accepted} of {inputs} are accepted"
    );
}

/// The payload that the check makes, and a list of its slots.
const PAYLOAD: usize = 1 << 18;
