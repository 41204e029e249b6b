//! The progress of an explicit collection in parts (`plan/deferred/step.rs`, `plan/prompt/step.rs`).

/// The stage of a collection in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Progress {
    /// No collection is running: the next step begins one.
    #[default]
    Idle,
    /// The passes of its first flip; the young have been judged.
    Epoch,
    /// The passes of a second one, for what the first passes let go of with dead keys, but held until then.
    SecondEpoch,
    /// Its mark.
    Mark,
    /// The passes of its last flip.
    LastEpoch,
}
