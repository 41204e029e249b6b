//! What is typed behind a generator's name: `--count 10000 --seed 2`, and `--without` a part of the lowering.

use tally_kit::seed;

/// See the file's first lines. Without a count a generator makes the number that belongs to the gate.
#[derive(Debug)]
pub struct Arguments {
    pub count: Option<u64>,
    pub seed: u64,
    pub without: Option<String>,
}

impl Default for Arguments {
    fn default() -> Arguments {
        Arguments { count: None, seed: seed::of_the_run(1), without: None }
    }
}

impl Arguments {
    pub fn of(words: &[String]) -> Arguments {
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
