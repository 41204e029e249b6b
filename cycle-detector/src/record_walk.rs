//! A walk through the records of special objects, some at a time: those that a mark has not reached are what it looks for.
//!
//! The program may run between two steps. Records that it makes or frees meanwhile are of objects that it has, and those are
//! none of the walk's.

use crate::prefetch_queue::AHEAD;
use crate::slice::OBJECTS_PER_STEP;
use tally_heap::services::special::Special;
use tally_heap::{Heap, ObjectRef};

/// How far the walk is.
#[derive(Debug, Default)]
pub(crate) struct RecordWalk {
    at: u32,
}

/// The findings of one step.
pub(crate) enum Looked {
    /// A wanted object.
    At(ObjectRef),
    /// So many that are not wanted.
    Past(i64),
    /// No more records.
    AtAll,
}

impl RecordWalk {
    /// Looks at the next records: those that `may_be` lets pass, and of these at the objects.
    pub(crate) fn next(
        &mut self,
        heap: &Heap,
        may_be: impl Fn(&Special) -> bool,
        is_wanted: impl Fn(ObjectRef) -> bool,
    ) -> Looked {
        let from = self.at;
        let object_of =
            |number| heap.services.specials.record(number).filter(|record| may_be(record)).and_then(Special::object);
        while ((self.at - from) as usize) < OBJECTS_PER_STEP {
            if self.at >= heap.services.specials.last() {
                return if self.at == from { Looked::AtAll } else { Looked::Past(i64::from(self.at - from)) };
            }
            self.at += 1;
            if let Some(object) = object_of(self.at + AHEAD as u32) {
                object.prefetch_for_mark();
            }
            if let Some(object) = object_of(self.at).filter(|&object| is_wanted(object)) {
                return Looked::At(object);
            }
        }
        Looked::Past(OBJECTS_PER_STEP as i64)
    }

    /// The walk is not done with the object that it has found: the next step finds it again.
    pub(crate) fn stay(&mut self) {
        self.at -= 1;
    }
}
