//! Exact counts: a byte in a side table and, for what the byte does not hold, the header; changed at every write. `[EXACT]`
//!
//! ```text
//!   count byte (range::COUNTS_BIAS)                       header's stamp
//!   ┌─────────┬──────────────────────┐                   ┌──────────────────────────┐
//!   │ settled │ low: 0 … 127         │   count = low  +  │ high: a multiple of 64   │
//!   └─────────┴──────────────────────┘                   └──────────────────────────┘
//! ```
//!
//! Nearly all changes touch the byte alone: 1/16 of the heap, which stays in the cache where the objects' headers do not. (With
//! the whole count in the header ten million random writes into a million objects took 1.5 times as long.) Full, the byte
//! carries 64 over to the header; empty, it takes 64 back; only when nothing is left there the count is zero.
//!
//! The inline code of compiled programs stands here for hosts and for the runtime's own writes:
//!
//! ```text
//! increment(v): byte += 1;  low = 0 → carry
//! decrement(v): byte −= 1;  byte ≤ 0x80 → low is 0, or the object is not settled
//! drop(v):      byte −= 1;  low = 0 → zero, or 64 come back                        v is what a root held
//! write(o.slot, v): increment(v); old = o.slot; o.slot = v; decrement(old)
//! ```
//!
//! *Settled* means that a decrement to non-zero has nothing to note: the object is young (`nursery`), buffered as a
//! candidate, or never part of a cycle. An object that a root releases is never noted: a pass that drops candidates as alive
//! looks at the roots, and what they hold stays a candidate (`tally_collector::plan::prompt::root_snapshot`). `[CANDIDATE]` A free
//! cell's byte says 1 and settled, as a fresh object wants it: allocation does not touch the table.
//!
//! A high part at or above 2³¹ is *stuck*: nothing is taken from it any more. It saturates, never wraps, and never frees; the
//! mark does.
//!
//! In loops of writes compiled code puts both off till the next safepoint (`postponed`).
//!
//! Expected cost: increment 1 load, 1 add, 1 store, 1 branch; decrement the same.

mod write;

use crate::object::{ObjectRef, Slot};

/// In the count byte: a decrement to non-zero has nothing to note.
pub const SETTLED: u8 = 0x80;
/// The count byte of a fresh object, and of every free cell.
pub(crate) const FRESH: u8 = SETTLED | 1;
pub(super) const LOW: u8 = 0x7f;
/// The carry: counts that go to the header at once, and come back.
const CARRY: u32 = 64;
/// Candidates buffered at most; beyond that they are only counted as suspects.
const CANDIDATES_MAX: usize = 1 << 20;

impl ObjectRef {
    /// The count of an object of a prompt heap.
    #[inline(always)]
    pub fn exact_count(self) -> u32 {
        self.stamp().saturating_add(self.low_count())
    }

    /// The part of the count that stands in the byte.
    #[inline(always)]
    pub fn low_count(self) -> u32 {
        (self.count() & LOW) as u32
    }

    /// Sets the count.
    #[inline(always)]
    pub fn set_exact_count(self, count: u32) {
        let low = if count <= LOW as u32 { count } else { CARRY + count % CARRY };
        self.set_count(self.count() & SETTLED | low as u8);
        self.set_stamp(count - low);
    }

    /// Whether a count no longer says anything.
    #[inline(always)]
    pub fn is_stuck(self) -> bool {
        self.stamp() > i32::MAX as u32
    }

    /// Whether a decrement to non-zero has nothing to note.
    #[inline(always)]
    pub fn is_settled(self) -> bool {
        self.count() & SETTLED != 0
    }

    /// From now on a decrement to non-zero has nothing to note.
    #[inline(always)]
    pub fn settle(self) {
        self.set_count(self.count() | SETTLED);
    }

    /// From now on it has.
    #[inline(always)]
    pub fn unsettle(self) {
        self.set_count(self.count() & !SETTLED);
    }

    /// The header as one word: meta above, the high part of the count below.
    #[inline(always)]
    pub fn header(self) -> u64 {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *const u64) }
    }

    /// Sets both halves.
    #[inline(always)]
    pub fn set_header(self, meta: u32, high: u32) {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *mut u64) = (meta as u64) << 32 | high as u64 }
    }

    /// Adds one to the count; a count that is full stays.
    #[inline(always)]
    pub fn increment_exact(self) {
        let byte = self.count().wrapping_add(1);
        self.set_count(byte);
        if byte & LOW == 0 {
            self.carry();
        }
    }

    /// Takes one from the count of an object that is known to be dead. Nothing is noted: that would show it to the mark as alive.
    pub(crate) fn decrement_dead(self) {
        if !self.is_stuck() {
            self.set_exact_count(self.exact_count() - 1);
        }
    }

    /// The byte's low part has just become full: it reads 0, and the flag beside it is turned over.
    #[cold]
    pub fn carry(self) {
        self.set_count(self.count() ^ SETTLED | CARRY as u8);
        self.set_stamp(self.stamp().saturating_add(CARRY));
    }
}

/// Where `count` words from `target` on lie in the object's payload.
fn bytes_of(object: ObjectRef, target: Slot, count: u64) -> std::ops::Range<u64> {
    let offset = target.address() - object.address();
    offset..offset + count * 8
}
