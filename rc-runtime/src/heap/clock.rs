//! The heap's clock: it advances by allocation.

use crate::memory::range::BLOCK_BYTES;

/// Stamp of the first epoch; 0 means clean and 1 is never given, so that "the last epoch" is never 0.
pub const FIRST_EPOCH: u32 = 2;
/// Stamps beyond this make the next flip start over from [`FIRST_EPOCH`]. Two more are left: for the flip with which a heap begins to
/// count, and for the one that starts over.
pub const LAST_EPOCH: u32 = u32::MAX - 2;

/// Bytes handed out between two slices: while a mark runs, or a collection in slices, and if that must hurry.
pub(crate) const PART_OF_BLOCK: u64 = BLOCK_BYTES / 4;
const HURRIED_PART: u64 = BLOCK_BYTES / 32;

/// The running epoch, and what was allocated in it.
#[derive(Debug)]
pub struct Clock {
    /// The running epoch.
    pub epoch: u32,
    /// Bytes handed out for allocation since the last flip.
    pub given_bytes: u64,
    /// Bytes handed out by then make the next slice due.
    slice_at: u64,
    /// While a collection runs in slices, they may be due each time that so many bytes were handed out, not for whole blocks alone.
    pub(crate) part_bytes: Option<u64>,
    /// `statistics.allocated_bytes` at the last flip.
    pub allocated_bytes_at_flip: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { epoch: FIRST_EPOCH, given_bytes: 0, slice_at: 0, part_bytes: None, allocated_bytes_at_flip: 0 }
    }
}

impl Clock {
    /// A new epoch begins.
    pub fn begin_epoch(&mut self) {
        (self.given_bytes, self.slice_at) = (0, 0);
    }

    /// Whether enough bytes were handed out since the last slice for the sake of allocation.
    #[inline(always)]
    pub(crate) fn slice_is_due(&self) -> bool {
        self.given_bytes >= self.slice_at
    }

    /// A collection runs in slices, for which allocation stops at each part of a block.
    pub fn hand_out_in_parts(&mut self, hurries: bool) {
        self.part_bytes = Some(if hurries { HURRIED_PART } else { PART_OF_BLOCK });
    }

    /// None does.
    pub fn hand_out_whole(&mut self) {
        self.part_bytes = None;
    }

    /// There was such a slice; so many bytes pay for the next.
    pub(crate) fn note_slice(&mut self, bytes: u64) {
        self.slice_at = self.given_bytes + bytes;
    }
}
