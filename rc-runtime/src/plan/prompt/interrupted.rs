//! What a call of the program interrupts in a drain. (What was being taken apart is parked: `reclaim/parked.rs`.)

/// See the file's first lines.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InterruptedDrain {
    /// The first pending object that drains took before.
    pub(super) drain_from: usize,
    /// Units of work that it had left.
    pub(super) units_left: i64,
    /// Objects that were protected.
    pub(super) protected: usize,
}
