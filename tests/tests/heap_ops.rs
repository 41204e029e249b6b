//! Op programs out of any text, as the fuzz target `heap_ops` makes them: its corpus, and a second of edits to it. The
//! seeds are the same each time; `TALLY_DAMAGE_SECONDS=600 cargo test --release -p tally-tests --test heap_ops` goes on
//! for longer.

#[path = "../../fuzz/checks/heap_ops.rs"]
mod heap_ops;

use std::path::Path;
use std::time::{Duration, Instant};
use tally_tests::random_program::dice::Dice;
use tally_tests::setup::setups;

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
    let ops: usize = corpus.iter().map(|text| heap_ops::check(text.as_bytes())).sum();
    assert!(corpus.len() >= 8 && ops > 80, "{ops} ops are next to nothing");
}

#[test]
fn edited_programs_agree_with_the_model() {
    let seconds = std::env::var("TALLY_DAMAGE_SECONDS").map_or(1, |value| value.parse().expect("a number"));
    let (corpus, begun) = (corpus(), Instant::now());
    let (mut seed, mut ops) = (0, 0);
    while begun.elapsed() < Duration::from_secs(seconds) || seed == 0 {
        ops += heap_ops::check(edit(&corpus, &mut Dice::new(seed)).as_bytes());
        seed += 1;
    }
    println!("{seed} programs of {ops} ops");
    assert!(ops as u64 > 5 * seed, "{ops} ops of {seed} inputs");
}
