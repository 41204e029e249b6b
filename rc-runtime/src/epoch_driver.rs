//! The door through which the heap asks for epochs: implemented by `tally-collector`, installed when a heap is made.

use crate::heap::Heap;

/// Decides when to flip, and does the passes' work in slices.
pub trait EpochDriver {
    /// The mutator is about to take a block (a safepoint): do a slice of pending work; flip if an epoch is due.
    fn on_block_taken(&mut self, heap: &mut Heap);
    /// The mutator polls at a safepoint.
    fn on_poll(&mut self, heap: &mut Heap);
    /// Flips now and runs everything to its end: unreachable objects are gone afterwards. Returns the number of objects that died.
    fn collect(&mut self, heap: &mut Heap) -> u64;
    /// A part of such a collection that takes about `ns` nanoseconds; true at its end.
    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool;
    /// Flip now and run the passes of that flip to their end.
    fn epoch(&mut self, heap: &mut Heap);
    /// Prompt plan: what the roots of compiled frames hold is to be in `heap.prompt.protected`: others may have written to them,
    /// and counted nothing.
    fn protect_roots(&mut self, heap: &mut Heap);
    /// The program is about to come back to a frame whose roots a walk has left for later. `[WATERMARK]`
    fn frame_is_reached(&mut self, heap: &mut Heap);
    /// The driver itself, for the crate that implements it.
    fn as_any(&mut self) -> &mut dyn std::any::Any;
}
