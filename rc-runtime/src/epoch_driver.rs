//! The door through which the heap asks for epochs: implemented by `tally-collector`, installed when a heap is made.
//!
//! Each plan has a driver of its own. While the heap calls its driver, `NoDriver` stands in the driver's place.

use crate::fatal;
use crate::heap::Heap;
use crate::report::epoch_report::EpochReport;
use crate::report::violation::Violation;

/// Decides when to collect, and does the work in slices. Debuggers and tests may print it.
pub trait EpochDriver: std::fmt::Debug {
    /// The mutator is about to take a block (a safepoint): do a slice of pending work; flip if an epoch is due.
    fn on_block_taken(&mut self, heap: &mut Heap);
    /// The mutator polls at a safepoint.
    fn on_poll(&mut self, heap: &mut Heap);
    /// Run everything to its end: what is unreachable is gone afterwards. Returns how many objects died.
    fn collect(&mut self, heap: &mut Heap) -> u64;
    /// A part of such a collection that takes about `ns` nanoseconds; true at its end.
    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool;
    /// Judge now what can be judged without a mark: by a flip and its passes, or by a round of trials.
    fn epoch(&mut self, heap: &mut Heap);
    /// Prompt plan: what the roots of compiled frames hold is to be in `heap.prompt.protected`: others may have written to them,
    /// and counted nothing.
    fn protect_roots(&mut self, heap: &mut Heap);
    /// The program is about to come back to a frame whose roots a walk has left for later. `[WATERMARK]`
    fn frame_is_reached(&mut self, heap: &mut Heap);
    /// Flip, if the passes of the last flip are done: for hosts and tests that choose the moment.
    fn flip(&mut self, heap: &mut Heap);
    /// Do about `units` of pending work in one stop, whatever the clock says.
    fn work(&mut self, heap: &mut Heap, units: i64);
    /// Whether such work is left.
    fn has_work(&self, heap: &Heap) -> bool;
    /// Recount the heap from scratch, on which no compiled code runs, right after an epoch.
    ///
    /// # Errors
    /// The first [`Violation`].
    fn verify(&mut self, heap: &mut Heap) -> Result<(), Violation>;
    /// The report of the last finished epoch.
    fn last_report(&self) -> &EpochReport;
}

/// What a heap has while its driver is being called: a driver does not call itself through the heap.
#[derive(Debug)]
pub(crate) struct NoDriver;

/// Stops: the heap has called its driver while that was being called. Only functions of the program that are called in the middle of
/// a collection lead here.
#[cold]
pub(crate) fn reentered() -> ! {
    fatal::stop(
        fatal::STATUS_VIOLATION,
        "a collection begins in the middle of another: functions that free a host value, clear a weak slot or trace a word call nothing \
         of Tally's, nor managed code that makes objects",
    )
}

impl EpochDriver for NoDriver {
    fn on_block_taken(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn on_poll(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn collect(&mut self, _heap: &mut Heap) -> u64 {
        reentered()
    }

    fn step(&mut self, _heap: &mut Heap, _ns: u64) -> bool {
        reentered()
    }

    fn epoch(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn protect_roots(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn frame_is_reached(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn flip(&mut self, _heap: &mut Heap) {
        reentered()
    }

    fn work(&mut self, _heap: &mut Heap, _units: i64) {
        reentered()
    }

    fn has_work(&self, _heap: &Heap) -> bool {
        reentered()
    }

    fn verify(&mut self, _heap: &mut Heap) -> Result<(), Violation> {
        reentered()
    }

    fn last_report(&self) -> &EpochReport {
        reentered()
    }
}
