//! Mitigations: the lowering's measures against known ways of losing roots, each with a name, so that a test can
//! leave one out.
//!
//! For tests only: `tests/hazards` has for each mitigation a program that fails without it, which shows that the
//! program meets the hazard at all. The place where a mitigation is applied names its hazard.

use std::str::FromStr;

/// A mitigation: a measure that keeps roots from being lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mitigation {
    /// Bundles name roots.
    RootNames,
    /// Functions without roots get empty bundles.
    EmptyBundles,
    /// Results that do not come back in registers go through a thunk.
    ResultThunks,
    /// Root slots move to the entry block.
    HoistedRoots,
    /// Root slots are null from the entry on.
    EmptyRoots,
    /// Lifetime markers of roots are dropped.
    LifetimeMarkers,
    /// Functions with a guaranteed tail call are not inlined.
    TailCallsOutOfLine,
    /// Every function keeps a frame pointer.
    FramePointers,
    /// Every function has an unwind table.
    UnwindTables,
    /// Attributes that promise too much are removed from the runtime's entry points.
    PromisesStripped,
    /// Frames with roots that other code may store to record themselves.
    LendingNoted,
    /// The origins of a stored value count as stored.
    OriginsOfStored,
    /// A root that was filled from another one stands in for that one.
    RootsInPlaceOfOthers,
}

/// All mitigations and their names in tests.
const NAMES: [(Mitigation, &str); 13] = [
    (Mitigation::RootNames, "root-names"),
    (Mitigation::EmptyBundles, "empty-bundles"),
    (Mitigation::ResultThunks, "result-thunks"),
    (Mitigation::HoistedRoots, "hoisted-roots"),
    (Mitigation::EmptyRoots, "empty-roots"),
    (Mitigation::LifetimeMarkers, "lifetime-markers"),
    (Mitigation::TailCallsOutOfLine, "tail-calls-out-of-line"),
    (Mitigation::FramePointers, "frame-pointers"),
    (Mitigation::UnwindTables, "unwind-tables"),
    (Mitigation::PromisesStripped, "promises-stripped"),
    (Mitigation::LendingNoted, "lending-noted"),
    (Mitigation::OriginsOfStored, "origins-of-stored"),
    (Mitigation::RootsInPlaceOfOthers, "roots-in-place-of-others"),
];

impl FromStr for Mitigation {
    type Err = String;

    fn from_str(text: &str) -> Result<Mitigation, String> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(mitigation, _)| *mitigation).ok_or_else(|| format!("no mitigation is called {text:?}"))
    }
}
