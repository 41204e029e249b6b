//! What a heap must offer so that the driver can run op programs on it.
//!
//! Implemented for the real heap in `tally_heap.rs` and for a deliberately simple one in `toy_heap.rs`, which exists to
//! test the oracle itself: an oracle that cannot fail proves nothing. Objects are addresses here, words are raw bits;
//! kinds are the only thing both sides have in common.

use crate::shape::Kind;

/// Figures every heap keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Objects ever allocated.
    pub allocated_objects: u64,
    /// Objects reclaimed.
    pub freed_objects: u64,
    /// Objects there are.
    pub live_objects: u64,
    /// Bytes they take, headers included.
    pub live_bytes: u64,
    /// Bytes of memory that cannot be used for anything else, whatever its use; without what is kept for the next objects of
    /// sizes that were in use.
    pub used_bytes: u64,
}

/// When garbage that plain counting finds is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deaths {
    /// After a few epochs; not what hangs under an object whose count once came near saturation.
    Deferred,
    /// After one epoch.
    AtEpochs,
    /// After every poll.
    AtSafepoints,
    /// After every poll, and a poll frees nothing else.
    AtSafepointsExactly,
}

/// A heap that runs op programs.
pub trait HeapUnderTest {
    /// What the heap promises of garbage outside cycles.
    fn deaths(&self) -> Deaths {
        Deaths::Deferred
    }
    /// A new object with null reference words and its length set; a safepoint. An error is out of memory.
    fn allocate(&mut self, kind: Kind, length: u64) -> Result<u64, String>;
    /// Reads a payload word.
    fn load(&self, object: u64, offset: u64) -> u64;
    /// Writes a reference word (or the tag that belongs to one) with the barrier.
    fn store(&mut self, object: u64, offset: u64, word: u64);
    /// Writes a data word without one.
    fn store_data(&mut self, object: u64, offset: u64, word: u64);
    /// memmove of `words` words with the barrier; `to` and `from` are (object, offset).
    fn copy_refs(&mut self, to: (u64, u64), from: (u64, u64), words: u64);
    /// One word into `words` neighbouring words with the barrier.
    fn fill_refs(&mut self, object: u64, offset: u64, word: u64, words: u64);
    /// One more host root.
    fn push_root(&mut self, object: Option<u64>);
    /// Changes a host root.
    fn set_root(&mut self, index: usize, object: Option<u64>);
    /// Drops the host roots from `count` on.
    fn truncate_roots(&mut self, count: usize);
    /// Changes a global root.
    fn set_global(&mut self, index: usize, object: Option<u64>);
    /// A safepoint poll.
    fn poll(&mut self);
    /// `units` units of pending work.
    fn step(&mut self, units: u32);
    /// Begins an epoch.
    fn flip(&mut self);
    /// Begins an epoch and runs it to its end.
    fn epoch(&mut self);
    /// Reclaims everything unreachable.
    fn collect(&mut self);
    /// The objects that the heap holds to be live now, each once; young ones need not be listed.
    fn live_objects(&mut self) -> Vec<u64>;
    /// The heap's own check of its invariants.
    fn verify(&mut self) -> Result<(), String>;
    /// A check of the heap's counts that shares no code with it; called right after an epoch.
    fn recount(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// Bytes that the heap may keep for more objects of sizes that are or were in use, and refuse to others.
    fn kept_bytes(&self) -> u64 {
        0
    }
    /// The figures.
    fn totals(&mut self) -> Totals;
}
