//! The seed of a run: a fixed one in the gate, so that it says the same of the same tree; `TALLY_SEED=17` for another, and
//! `TALLY_SEED=random` for one that nobody has tried, which is printed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The variable.
pub const VARIABLE: &str = "TALLY_SEED";

/// The seed that the environment asks for, or the test's own.
pub fn of_the_run(fixed: u64) -> u64 {
    asked().unwrap_or(fixed)
}

/// The seed that the environment asks for.
pub fn asked() -> Option<u64> {
    static ASKED: OnceLock<Option<u64>> = OnceLock::new();
    *ASKED.get_or_init(read)
}

fn read() -> Option<u64> {
    let asked = std::env::var(VARIABLE).ok()?;
    let seed = parse(&asked).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"));
    eprintln!("{VARIABLE}={seed}");
    Some(seed)
}

/// A seed as somebody types it: a number, or `random`.
///
/// # Errors
/// In words when it is neither.
pub fn parse(typed: &str) -> Result<u64, String> {
    if typed == "random" {
        // The keys of a hash map are random; a few digits are enough to find what nobody has tried, and can be typed.
        return Ok(RandomState::new().build_hasher().finish() % 1_000_000_000);
    }
    typed.parse().map_err(|_| format!("a seed is a number or `random`, not `{typed}`"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn seed_is_a_number_or_drawn() {
        assert_eq!(parse("17"), Ok(17));
        assert!(parse("randon").is_err());
        assert_ne!(parse("random"), parse("random"));
    }
}
