//! The counts that a program may save under the prompt plan, as values of `--save-counts`: for suites that compare programs with
//! other counts saved.

/// All savings but one.
pub const ALL_BUT_ONE: [&str; 6] = [
    "lazy-roots,quiet-calls,last-use,owned-results,postponed",
    "moves,quiet-calls,last-use,owned-results,postponed",
    "moves,lazy-roots,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,last-use,postponed",
    "moves,lazy-roots,quiet-calls,last-use,owned-results",
];
