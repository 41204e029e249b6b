//! The counts that a program may save under the prompt plan, as values of `--save-counts`: for suites that compare programs with
//! other counts saved.

/// All savings but one.
pub const ALL_BUT_ONE: [&str; 10] = [
    "lazy-roots,quiet-calls,leaf-calls,inlined-leaves,advances,held-parameters,last-use,owned-results,postponed",
    "moves,quiet-calls,leaf-calls,inlined-leaves,advances,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,leaf-calls,inlined-leaves,advances,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,inlined-leaves,advances,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,advances,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,inlined-leaves,held-parameters,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,inlined-leaves,advances,last-use,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,inlined-leaves,advances,held-parameters,owned-results,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,inlined-leaves,advances,held-parameters,last-use,postponed",
    "moves,lazy-roots,quiet-calls,leaf-calls,inlined-leaves,advances,held-parameters,last-use,owned-results",
];
