//! In which ways a test runs a program. The gate takes some of the combinations of plan, level and setting, by turns, so that each
//! combination is met by some programs; `TALLY_EVERY_WAY` in the environment takes all for each.

/// Whether all are wanted.
pub fn every_way() -> bool {
    std::env::var_os("TALLY_EVERY_WAY").is_some()
}

/// One of two ways by turns, or both.
pub fn by_turns<T>(ways: [T; 2], turn: usize) -> Vec<T> {
    let [first, second] = ways;
    match (every_way(), turn % 2) {
        (true, _) => vec![first, second],
        (false, 0) => vec![first],
        (false, _) => vec![second],
    }
}

/// Hashes a name, to choose a turn.
pub fn turn_of(name: &str) -> usize {
    name.bytes().map(usize::from).sum()
}
