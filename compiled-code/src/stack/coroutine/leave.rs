//! The end of the program, or of a thread, takes its stacks' frames along.

use super::{State, current, record_of, set_current};
use tally_heap::Heap;

/// The program or the thread has ended: all frames are gone, and no stack runs. If this runs on a coroutine's stack,
/// that is never reused.
pub(crate) fn leave(heap: &mut Heap) {
    let Some(current) = current() else { return };
    if !current.is_of(heap) {
        return;
    }
    std::mem::forget(current.memory.take());
    while let Some(&last) = heap.services.coroutines.chain().last() {
        let record = record_of(last);
        record.forget_ran();
        record.state.set(State::Finished);
        if record.is_laid_down.replace(false) {
            heap.forget_frames(last);
        }
        heap.forget_argument(last);
        heap.leave_coroutine();
    }
    set_current(None);
}
