//! The counts that a program may save under the prompt plan, as values of `--save-counts`: for suites that compare programs with
//! other counts saved.

/// All savings but one.
pub const ALL_BUT_ONE: [&str; 8] = [
    "lazy-roots,quiet-calls,leaf-calls,held-parameters,last-use,owned-results,postponed",
    "moves,quiet-calls,leaf-calls,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,leaf-calls,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,held-parameters,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,held-parameters,last-use,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,held-parameters,last-use,owned-results",
];
