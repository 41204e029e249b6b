//! A walk through the records of special objects and the bonds of weak maps, some at a time: it looks for objects that a mark has not reached.
//!
//! The program may run between two steps. Records and bonds that it makes or frees meanwhile are of objects that it has, and those
//! are none of the walk's.

use crate::prefetch_queue::AHEAD;
use crate::slice::OBJECTS_PER_STEP;
use tally_heap::services::special::Special;
use tally_heap::{Heap, ObjectRef};

/// How far the walk is.
#[derive(Debug, Default)]
pub(crate) struct RecordWalk {
    at: u32,
    /// The same among the bonds, which come when it has looked at all records.
    at_bond: u32,
    /// It found the last object among the bonds.
    was_bond: bool,
}

/// The objects that a walk looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    /// What weak references, sets or entries refer to, but for keys.
    Targets,
    /// All that have records, and keys of bonds.
    Special,
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
    /// Looks at the next records and bonds, and at the objects that are sought among them.
    pub(crate) fn next(&mut self, heap: &Heap, sought: Sought, is_wanted: impl Fn(ObjectRef) -> bool) -> Looked {
        let from = self.at;
        let may_be = |record: &&Special| sought == Sought::Special || record.has_referrers();
        let object_of = |number| heap.services.specials.record(number).filter(may_be).and_then(Special::object);
        while ((self.at - from) as usize) < OBJECTS_PER_STEP {
            if self.at >= heap.services.specials.last() {
                return match self.at - from {
                    0 => self.next_bond(heap, sought, is_wanted),
                    records => Looked::Past(records.into()),
                };
            }
            (self.at, self.was_bond) = (self.at + 1, false);
            if let Some(object) = object_of(self.at + AHEAD as u32) {
                object.prefetch_for_mark();
            }
            if let Some(object) = object_of(self.at).filter(|&object| is_wanted(object)) {
                return Looked::At(object);
            }
        }
        Looked::Past(OBJECTS_PER_STEP as i64)
    }

    fn next_bond(&mut self, heap: &Heap, sought: Sought, is_wanted: impl Fn(ObjectRef) -> bool) -> Looked {
        let specials = &heap.services.specials;
        let from = self.at_bond;
        let object_of = |number| match sought {
            Sought::Targets => specials.value_of_bond(number),
            Sought::Special => specials.key_of_bond(number),
        };
        while ((self.at_bond - from) as usize) < OBJECTS_PER_STEP {
            if self.at_bond >= specials.last_bond() {
                let bonds = self.at_bond - from;
                return if bonds == 0 { Looked::AtAll } else { Looked::Past(bonds.into()) };
            }
            (self.at_bond, self.was_bond) = (self.at_bond + 1, true);
            specials.prefetch_bond(self.at_bond + 2 * AHEAD as u32);
            if let Some(object) = object_of(self.at_bond + AHEAD as u32) {
                object.prefetch_for_mark();
            }
            if let Some(object) = object_of(self.at_bond).filter(|&object| is_wanted(object)) {
                return Looked::At(object);
            }
        }
        Looked::Past(OBJECTS_PER_STEP as i64)
    }

    /// The walk is not done with the object that it has found: the next step finds it again.
    pub(crate) fn stay(&mut self) {
        match self.was_bond {
            false => self.at -= 1,
            true => self.at_bond -= 1,
        }
    }
}
