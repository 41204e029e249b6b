//! What is known of counts at one place of a function.

use crate::llvm::Value;
use crate::lower::bit_set::BitSet;
use smallvec::SmallVec;

/// What a simple root has to do with the count of what it holds. Where paths meet, the greater one holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    Null,
    /// Somebody else keeps what it holds alive till the next safepoint.
    Borrows,
    Owns,
}

/// See the file's first lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) slots: SmallVec<[Holds; 8]>,
    /// What a slot holds, where known.
    pub(super) contents: SmallVec<[Option<Value>; 8]>,
    /// Temporaries that still hold their count.
    pub(super) temporaries: BitSet,
    /// Something may be waiting on the pending list.
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
            self.slots[slot] = self.slots[slot].max(other.slots[slot]);
        }
        // A temporary that one way lacks is let go on the other's edge.
        self.pending |= other.pending || self.temporaries != other.temporaries;
        self.temporaries.intersect(&other.temporaries);
    }
}
