//! An explicit collection in parts, for hosts that have time to give now: between two frames, while waiting for input.
//!
//! It goes the way of `DeferredDriver::collect_all`, and remembers how far it has come:
//!
//! ```text
//!  Idle ──► Epoch: the unreachable are found by counting, or tried ──► Mark: the rest ──► LastEpoch ──► Idle, true
//!             └─► SecondEpoch, if dead keys let go of values ─────────────┘     what a log named, and the
//!                                                                               roots of the flip, are released
//! ```
//!
//! The program runs between the parts, and its own epochs may come in between: they only bring the end nearer.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::progress::Progress;
use crate::slice::Slice;
use tally_heap::Heap;

impl DeferredDriver {
    /// Works for about `ns` nanoseconds, at least one chunk; true when a collection has come to its end.
    pub(crate) fn step_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        let mut slice = Slice::of_time(i64::MAX, ns);
        while !slice.ends() {
            if self.judges(heap) {
                self.work(heap, slice.chunk());
            } else if self.go_on(heap) {
                return true;
            }
            slice.spend(slice.chunk());
        }
        false
    }

    /// Nothing is left to do for this part: begins the next. True when that was the last.
    fn go_on(&mut self, heap: &mut Heap) -> bool {
        debug_assert_eq!(self.phase, Phase::Idle);
        self.progress = match self.progress {
            Progress::Idle => {
                self.flip(heap);
                Progress::Epoch
            }
            Progress::Epoch if values_wait_for_a_flip(heap) => {
                self.flip(heap);
                Progress::SecondEpoch
            }
            Progress::Epoch | Progress::SecondEpoch => {
                self.start_mark(heap);
                Progress::Mark
            }
            Progress::Mark => {
                self.flip(heap);
                Progress::LastEpoch
            }
            Progress::LastEpoch => Progress::Idle,
        };
        self.progress == Progress::Idle
    }
}

/// Whether passes let go of what dead keys held, and hold it as if by roots until the next flip: a mark of this one would find it alive.
pub(super) fn values_wait_for_a_flip(heap: &Heap) -> bool {
    !heap.services.specials.upgraded.is_empty()
}
