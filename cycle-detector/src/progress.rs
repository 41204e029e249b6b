//! How far an explicit collection in parts has come (`plan/deferred/step.rs`, `plan/prompt/step.rs`).

/// How far a collection in parts has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Progress {
    /// The next step begins one.
    #[default]
    Idle,
    /// The passes of its first flip; the young have been judged.
    Epoch,
    /// Its mark.
    Mark,
    /// The passes of its last flip.
    LastEpoch,
}
