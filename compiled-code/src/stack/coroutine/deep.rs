//! The last stacks on which the collector has run, and which still have the pages that it touched.

use super::{Record, State};
use std::cell::Cell;
use std::ptr;

/// How many they are, at most.
const KEPT: usize = 16;

/// A thread's, and the next place that is filled.
struct Deep {
    stacks: [Cell<*const Record>; KEPT],
    next: Cell<usize>,
}

thread_local! {
    static DEEP: Deep = const { Deep { stacks: [const { Cell::new(ptr::null()) }; KEPT], next: Cell::new(0) } };
}

/// A stack has stopped on which the collector has run. Returns the one in whose place it is kept, if that has stopped, too.
pub(super) fn note(record: &Record) -> Option<&'static Record> {
    DEEP.with(|deep| {
        if deep.stacks.iter().any(|stack| ptr::eq(stack.get(), record)) {
            return None;
        }
        let place = deep.next.get();
        deep.next.set((place + 1) % KEPT);
        let before = deep.stacks[place].replace(record);
        // SAFETY: a record leaves its place before it goes.
        unsafe { before.as_ref() }.filter(|before| matches!(before.state.get(), State::Suspended | State::Waiting))
    })
}

/// A stack's record goes.
pub(super) fn forget(record: &Record) {
    if record.is_deep.get() {
        DEEP.with(|deep| {
            let its = deep.stacks.iter().filter(|stack| ptr::eq(stack.get(), record));
            its.for_each(|stack| stack.set(ptr::null()));
        });
    }
}
