//! The counts that the prompt plan saves (`Patterns`): `ownership` and its neighbours read the switches,
//! `--save-counts` sets them.
//!
//! Each saving has a switch, so that a test or a measurement can leave one out. Without any of them the result is the
//! plan read literally, and is equally correct.

/// The counts that are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patterns {
    /// The count of a fresh object or of a result goes to the first consumer that needs one.
    pub moves: bool,
    /// Roots borrow between safepoints.
    pub lazy_roots: bool,
    /// Calls in which nothing is released are no safepoints for the counts.
    pub quiet_calls: bool,
    /// Functions that reach no safepoint but at their end are leaves: what dies in them does so behind the call.
    pub leaf_calls: bool,
    /// Small leaves are put in place of their calls.
    pub inlined_leaves: bool,
    /// A reference that a write stores, and a later one takes out of the field it was loaded from, is not counted twice.
    pub advances: bool,
    /// Roots of parameters that callers hold are none.
    pub held_parameters: bool,
    /// A root's count goes along with its last use.
    pub last_use: bool,
    /// Results bring their count.
    pub owned_results: bool,
    /// Loops of writes postpone counts until the next safepoint.
    pub postponed: bool,
}

impl Patterns {
    /// The plan read literally.
    pub const NONE: Patterns = Patterns::all(false);
    /// Everything on.
    pub const ALL: Patterns = Patterns::all(true);

    const fn all(on: bool) -> Patterns {
        Patterns {
            moves: on,
            lazy_roots: on,
            quiet_calls: on,
            leaf_calls: on,
            inlined_leaves: on,
            advances: on,
            held_parameters: on,
            last_use: on,
            owned_results: on,
            postponed: on,
        }
    }
}

impl std::str::FromStr for Patterns {
    type Err = String;

    /// `all`, `none`, or names between commas.
    fn from_str(text: &str) -> Result<Patterns, String> {
        let mut patterns = Patterns::NONE;
        for name in text.split(',') {
            match name {
                "none" => patterns = Patterns::NONE,
                "all" => patterns = Patterns::ALL,
                "moves" => patterns.moves = true,
                "lazy-roots" => patterns.lazy_roots = true,
                "quiet-calls" => patterns.quiet_calls = true,
                "leaf-calls" => patterns.leaf_calls = true,
                "inlined-leaves" => patterns.inlined_leaves = true,
                "advances" => patterns.advances = true,
                "held-parameters" => patterns.held_parameters = true,
                "last-use" => patterns.last_use = true,
                "owned-results" => patterns.owned_results = true,
                "postponed" => patterns.postponed = true,
                _ => {
                    return Err(format!(
                        "nothing that saves counts is called {name:?}; there are moves, lazy-roots, quiet-calls, leaf-calls, \
                         inlined-leaves, advances, held-parameters, last-use, owned-results and postponed, all and none"
                    ));
                }
            }
        }
        Ok(patterns)
    }
}
