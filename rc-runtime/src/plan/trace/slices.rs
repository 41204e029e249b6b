//! A collection in slices, as the heap's blocks, lists and counters see it. The program runs between two slices.
//!
//! Snapshot at the beginning (Yuasa 1990): what was reachable at one moment survives, and all that is allocated after it. The
//! barrier is that of the deferred plan, with the same bits: the first write to an object, or to a chunk of a large one, shows
//! the marker what it referred to (`barrier`).
//!
//! ```text
//! arm_some          unlogged bits of all blocks and large objects are set; a write that meets one leaves it, and does nothing
//! take_snapshot     the bits of what was opened meanwhile, the next epoch's stamp: at once; the roots are read in the same stop
//! forget_some       live bits are cleared, or kept
//!   survive         as in a collection that stops the program (`plan::bump::collection`)
//!                   the dead are judged (`judging`)
//! end_marking       writes are plain again
//! sweep_some        large objects, then blocks; their marks are cleared
//! end_slices        counters
//! ```
//!
//! Live bits are built anew between the snapshot and the sweep. Of blocks into which the program allocates meanwhile, empty ones and
//! those with holes, they are kept instead, so that the holes are known (`BlockSpace::forget_or_keep`), and the sweep clears those of the
//! dead. An object allocated since the snapshot is *new*: not mature, with the stamp of the running epoch. It has no live bits, and is
//! neither followed nor judged. What it refers to was reachable at the snapshot, is new, or was shown when a weak slot yielded it.
//!
//! Not in slices: large objects of the time in which bits are set, a 128th of their bytes. `[BOUND]`

mod judging;
mod steps;

use crate::memory::heap_walk::HeapWalk;
use crate::memory::list::List;
use crate::object::ObjectRef;

/// What a collection in slices is doing, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::plan::trace) enum Stage {
    /// No collection in slices runs.
    #[default]
    Off,
    /// Bits are set before the snapshot: a write does nothing.
    Arms,
    /// The mark goes on from the snapshot: a write shows it what is overwritten.
    Marks,
    /// The dead are known, and are judged; a write shows the same.
    Judges,
    /// Writes are plain.
    Sweeps,
}

/// A collection in slices.
#[derive(Debug, Default)]
pub(in crate::plan) struct Slices {
    pub(in crate::plan::trace) stage: Stage,
    pub(in crate::plan::trace) judging: Judging,
    /// From the snapshot on until the end: young objects with this stamp are new. 0: no collection runs, and no object has it.
    pub(in crate::plan::trace) new_stamp: u32,
    /// Objects that the mark had not come to when weak references yielded them.
    pub(in crate::plan::trace) upgraded: u64,
    /// There was no memory to note an object that was shown to the mark.
    pub(in crate::plan::trace) lost: bool,
    pub(in crate::plan::trace) walk: HeapWalk,
    /// A large object whose bits are set, and the byte to go on at.
    pub(in crate::plan::trace) part: Option<(ObjectRef, u64)>,
    /// Blocks that had been opened, and young large objects, when the first bits were set.
    pub(in crate::plan::trace) opened: usize,
    pub(in crate::plan::trace) large: usize,
    /// Blocks that the heap had at the snapshot, and the next to look at.
    pub(in crate::plan::trace) blocks: usize,
    pub(in crate::plan::trace) at: usize,
    /// Objects and bytes allocated by then.
    pub(in crate::plan::trace) allocated: (u64, u64),
    pub(in crate::plan::trace) freed_before: u64,
    /// Bytes of large survivors.
    pub(in crate::plan::trace) large_bytes: u64,
}

/// How far the dead are judged.
#[derive(Debug, Default)]
pub(in crate::plan) struct Judging {
    /// The next in the list that is gone through, and how many of it stay.
    pub(in crate::plan::trace) at: usize,
    pub(in crate::plan::trace) kept: usize,
    /// Registered objects, taken off their list.
    pub(in crate::plan::trace) registered: List<ObjectRef>,
}

impl Judging {
    pub(super) fn begin_list(&mut self) {
        (self.at, self.kept) = (0, 0);
    }
}

impl Slices {
    /// Whether the dead are known, and finalizers wait until all is judged.
    pub(in crate::plan) fn judge(&self) -> bool {
        self.stage == Stage::Judges
    }
}
