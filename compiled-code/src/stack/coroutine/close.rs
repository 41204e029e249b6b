//! The end of a stack whose entry has not returned: it is closed, or its coroutine dies, or the thread ends.
//!
//! Its frames never run again: no cleanup, no destructor of C++ and no `defer` of theirs. What they refer to is let go
//! of, and under the prompt plan what they have counted is released, as their stack maps say. `[EXACT]`

use super::frames::{self, Held};
use super::{Record, State, record_of, refuse};
use tally_heap::{Heap, ObjectRef};

/// Closes a suspended stack. One that has finished stays as it is.
pub(super) fn close(heap: &mut Heap, record: &Record) {
    match record.state.get() {
        State::Suspended => {
            end(heap, record);
            record.state.set(State::Finished);
            heap.forget_frames(record.its_object());
            heap.forget_argument(record.its_object());
        }
        State::Finished => {}
        State::Running | State::Waiting => refuse(
            "tally_stack_close: this stack runs, or waits for one that does; only a suspended stack can be closed",
        ),
    }
}

/// A coroutine is being taken apart: what its frames have counted is released. It may be called more than once.
pub(super) fn on_death(heap: &mut Heap, coroutine: ObjectRef) {
    let record = record_of(coroutine);
    if record.state.get() == State::Suspended {
        end(heap, record);
        record.state.set(State::Finished);
    }
}

/// The frames of a suspended stack are given up.
fn end(heap: &mut Heap, record: &Record) {
    if record.has_run.get() && heap.frames_count() {
        let Held { counted, .. } = frames::held(heap, record);
        counted.iter().for_each(|&object| heap.release_of_frame(object));
    }
    record.forget_ran();
    record.is_laid_down.set(false);
    crate::stack::diversion::stack_ends(record.bounds());
    drop(record.memory.take());
}
