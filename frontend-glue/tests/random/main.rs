//! Random input for the lowering: modules around the code of llvm-stress, and programs about pointers that merge.
//!
//! ```sh
//! cargo test --release -p tally-llvm --test random -- modules --count 10000 --seed 2
//! cargo test --release -p tally-llvm --test random -- merged-pointers --count 10000 --seed 2
//! ```
//!
//! Without a generator's name, as in `cargo test`, both run a fixed number, or those that the words name as libtest's filters
//! would. It is no libtest program: the arguments of a generator are its own.

mod merged_pointers;
mod modules;

use std::process::ExitCode;
use tally_kit::seed;

/// A generator: what it is called on the command line, what a filter calls it, and its `main`.
type Generator = (&'static str, &'static str, fn(&Arguments) -> ExitCode);

const GENERATORS: [Generator; 2] =
    [("modules", "random_modules", modules::main), ("merged-pointers", "merged_pointers", merged_pointers::main)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((_, _, generator)) = GENERATORS.iter().find(|(name, ..)| words.first().is_some_and(|word| word == name))
    {
        return generator(&Arguments::of(&words[1..]));
    }
    if words.iter().any(|word| word == "--list") {
        // As libtest would, for runners that start each test by itself; none is ignored.
        let listed = GENERATORS.iter().filter(|_| words.iter().all(|word| word != "--ignored"));
        listed.for_each(|(_, name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_asked = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    let asked = GENERATORS.iter().filter(|(_, filtered, _)| is_asked(filtered));
    let failed = asked.filter(|(_, _, generator)| generator(&Arguments::default()) != ExitCode::SUCCESS).count();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is typed behind a generator's name: `--count 10000 --seed 2`, and `--without` a part of the lowering. Without a count a generator makes the number that belongs to the gate.
#[derive(Debug)]
struct Arguments {
    count: Option<u64>,
    seed: u64,
    without: Option<String>,
}

impl Default for Arguments {
    fn default() -> Arguments {
        Arguments { count: None, seed: seed::of_the_run(1), without: None }
    }
}

impl Arguments {
    fn of(words: &[String]) -> Arguments {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().unwrap_or_else(|| panic!("{word} takes a value"));
            let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("{word} takes a number"));
            match word.as_str() {
                "--count" => arguments.count = Some(number()),
                "--seed" => arguments.seed = number(),
                "--without" => arguments.without = Some(value.clone()),
                _ => panic!("{word} is none of --count, --seed and --without"),
            }
        }
        arguments
    }
}
