//! How many ways a program is run in: of plans, levels and settings a gate takes enough to meet each of them in many programs, and
//! `TALLY_EVERY_WAY` in the environment takes all with all.

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

/// So many of something that is random, or as many as a gate takes.
pub fn so_many(all: u64, of_a_gate: u64) -> u64 {
    if every_way() { all } else { of_a_gate }
}

/// A number of a name, for turns.
pub fn turn_of(name: &str) -> usize {
    name.bytes().map(usize::from).sum()
}
