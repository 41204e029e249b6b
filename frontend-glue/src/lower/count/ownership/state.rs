//! The state of counts at one place of a function.

use super::taken::Field;
use crate::llvm::Value;
use crate::lower::bit_set::BitSet;
use crate::lower::count::settled_roots::Unchanged;
use smallvec::SmallVec;

/// Whether a simple root has a count for its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Null,
    /// Another holder keeps its object alive until the next safepoint.
    Borrows,
    Owns,
    /// It borrows on one path and owns on another. The block where these meet decides (`overwritten`).
    Mixed,
}

/// The state of roots and temporaries at one place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) slots: SmallVec<[Holds; 8]>,
    /// The content of a slot, where known.
    pub(super) contents: SmallVec<[Option<Value>; 8]>,
    /// Temporaries that still hold their count.
    pub(super) temporaries: BitSet,
    /// Fields whose content is known.
    pub(super) fields: SmallVec<[Field; 4]>,
    /// Roots that are settled need not be settled again while these say so.
    pub(super) unchanged: Unchanged,
    /// An object may be waiting on the pending list.
    pub(super) pending: bool,
}

impl State {
    pub(super) fn merge(&mut self, other: &State) {
        for slot in 0..self.slots.len() {
            let known = match (self.slots[slot], other.slots[slot]) {
                (Holds::Null, Holds::Null) => None,
                (Holds::Null, _) | (_, Holds::Null) => None,
                _ => self.contents[slot].filter(|_| self.contents[slot] == other.contents[slot]),
            };
            self.contents[slot] = known;
            self.slots[slot] = match (self.slots[slot], other.slots[slot]) {
                (one, other) if one == other => one,
                (Holds::Null, other) | (other, Holds::Null) => other,
                _ => Holds::Mixed,
            };
        }
        // A temporary that one path lacks is released on the other's edge.
        self.pending |= other.pending || self.temporaries != other.temporaries;
        self.temporaries.intersect(&other.temporaries);
        self.fields.retain(|field| other.fields.contains(field));
        self.unchanged.merge(&other.unchanged);
    }
}
