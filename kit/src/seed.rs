//! The seed of a run. It is fixed in the gate, so that the same tree gives the same result. `TALLY_SEED=17` sets
//! another, and `TALLY_SEED=random` chooses a new one and prints it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The environment variable.
pub const VARIABLE: &str = "TALLY_SEED";

/// The seed that the environment sets, or the test's own.
pub fn of_the_run(fixed: u64) -> u64 {
    asked().unwrap_or(fixed)
}

/// The seed that the environment sets.
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

/// Parses a seed: a number, or `random`.
///
/// # Errors
/// A message when it is neither.
pub fn parse(typed: &str) -> Result<u64, String> {
    if typed == "random" {
        // The keys of a hash map are random; a few digits are enough for a new seed, and can be typed.
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
