//! The verdict of a trial.

/// The result of a trial.
pub(super) enum Verdict {
    /// Held from outside.
    Live,
    /// So many objects were garbage.
    Garbage(u64),
    /// There is garbage, and it will be judged again when its finalizers have run.
    Finalizing,
    /// Cut off by a bound, and no visited object is garbage.
    CutOff,
    /// Something in it may not be judged now.
    Undecided,
}

/// The result of a walk over a cohort.
#[derive(PartialEq, Eq)]
pub(super) enum Walk {
    Complete,
    CutOff,
    /// At something that may not be judged.
    Abandoned,
}
