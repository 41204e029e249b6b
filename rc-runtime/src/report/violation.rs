//! A named invariant that does not hold, as data: what a recount of the heap returns.

/// A named invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's name.
    pub invariant: &'static str,
    /// The object, and its fault.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invariant {}: {}", self.invariant, self.what)
    }
}

impl std::error::Error for Violation {}
