//! A heap of the deferred plan that traces: counting costs it more than marks would.
//!
//! The rules are those of the trace plan ([`plan::trace`](crate::plan::trace)): nothing is counted, survivors of a collection are mature, and
//! collections go in slices, to which the barrier shows what is overwritten. Compiled code is that of the deferred plan, whose barrier
//! tests the same bits. The driver decides when (`tally-collector`).
//!
//! ```text
//!             begin_tracing: between two epochs; logs and candidates are forgotten; a collection begins
//!   counting ─────────────────────────────────────────────────────────────────────────────────────► tracing
//!            ◄─────────────────────────────────────────────────────────────────────────────────────
//!             a collection whose sweep makes its survivors young; count_again: as if allocated since the last flip; a flip follows
//! ```
//!
//! | of the heap | counting | becomes, tracing |
//! |---|---|---|
//! | objects | mature, or young since the last flip | the same |
//! | live bits, blocks | of mature objects | the same; collections build them anew |
//! | unlogged bits | of objects not logged | set for each mark |
//! | counts | of mature objects | none: cleared while the first collection sets bits |
//! | special, with finalizers | young ones listed | all are listed: mature ones at the same time |
//! | held by the runtime | by a count each | listed |
//!
//! What costs as much as there are objects is done in slices: lists and counts before the snapshot of the first collection, a look at
//! each object in the sweep of the last. The rest is some instructions for each block, large object, and object that the
//! runtime holds. `[BOUND]`

use crate::heap::Heap;
use crate::memory::heap_walk::{HeapWalk, Place, next_live};
use crate::memory::range::{MARK, block_start};
use crate::object::{ObjectRef, flag};
use crate::plan::Change;
use crate::plan::deferred::marking::clear_counts;
use crate::plan::deferred::mature::end_of_cell;

/// Units of a block whose counts are cleared: two kibibytes of cold memory.
const COUNTS_UNITS: i64 = 24;

impl Heap {
    /// From now on the heap traces. It counts, and what [`begin_marking`](Self::begin_marking) asks for holds. A collection must
    /// begin before the program goes on.
    pub fn begin_tracing(&mut self) {
        self.large.forget_counts();
        self.forget_epochs();
        self.services.finalizers.leaves_owned = false;
        (self.trace.ages, self.trace.change) = (true, Change::TakesOver);
    }

    /// The same of a heap that marks. A mark may have been given up halfway.
    pub fn begin_tracing_of_marking(&mut self) {
        self.leave_mark();
        self.services.finalizers.leaves_owned = false;
        self.trace.ages = true;
    }

    /// Takes what counting has left over, of a block or a large object, before the snapshot of the first collection. Returns what that
    /// costs.
    pub(in crate::plan) fn take_over(&mut self, place: Place) -> i64 {
        if self.trace.change != Change::TakesOver {
            return 0;
        }
        match place {
            Place::Block(block) => {
                let (mut at, end, mut spent) = (block_start(block), block_start(block + 1), COUNTS_UNITS);
                while let Some(object) = next_live(at, end) {
                    at = end_of_cell(object);
                    spent += 1;
                    self.list_mature(object);
                }
                // SAFETY: [OWNED] a block of this heap.
                unsafe { clear_counts(block) };
                spent
            }
            Place::Large(object) => {
                self.list_mature(object);
                1
            }
            Place::Vacant => 0,
        }
    }

    /// The same at once: a collection that stops the program begins, or the lists are read.
    pub(crate) fn finish_taking_over(&mut self) {
        let mut walk = HeapWalk::default();
        while self.trace.change == Change::TakesOver {
            match walk.next(&self.bump.blocks.owned, &self.large) {
                Some(place) => _ = self.take_over(place),
                None => self.end_taking_over(),
            }
        }
    }

    /// All was taken over.
    pub(in crate::plan) fn end_taking_over(&mut self) {
        if self.trace.change == Change::TakesOver {
            self.trace.change = Change::None;
        }
    }

    /// An object that counting knew is listed if it is special or has a finalizer.
    pub(in crate::plan::deferred) fn list_mature(&mut self, object: ObjectRef) {
        if !object.is_mature() {
            return;
        }
        if object.has(flag::ROOTED) || object.has(flag::FOUND) {
            object.remove_flags(flag::ROOTED | flag::FOUND);
        }
        if object.has(flag::SPECIAL) {
            self.list_special(object);
        }
        if object.needs_finalizer() {
            self.trace.finalizable.push(object);
        }
    }

    /// The sweep that begins makes all survivors young, so that the heap may count afterwards.
    pub fn make_survivors_young(&mut self) {
        self.trace.change = Change::MakesYoung;
    }

    /// All survivors become young at once: the stamps are used up, and no collection in slices can begin.
    pub fn make_all_young(&mut self) {
        self.finish_taking_over();
        self.for_each_mature(|heap, object| heap.make_survivor_young(object));
        self.trace.change = Change::AllYoung;
    }

    /// Whether such a sweep has ended, and no collection has begun since.
    pub fn all_are_young(&self) -> bool {
        self.trace.change == Change::AllYoung
    }

    /// Makes the objects of a block that was swept young, if they are to be. Returns what that costs.
    pub(in crate::plan) fn make_block_young(&mut self, block: u32) -> i64 {
        if self.trace.change != Change::MakesYoung {
            return 0;
        }
        let (mut at, end, mut spent) = (block_start(block), block_start(block + 1), 0);
        while let Some(object) = next_live(at, end) {
            at = end_of_cell(object);
            spent += 1;
            self.make_survivor_young(object);
        }
        spent
    }

    /// The same of a large object, unless it has died.
    pub(in crate::plan) fn make_large_young(&mut self, object: ObjectRef) {
        if self.trace.change == Change::MakesYoung && MARK.get(object.granule()) {
            self.make_survivor_young(object);
        }
    }

    /// The sweep has ended.
    pub(in crate::plan) fn end_making_young(&mut self) {
        if self.trace.change == Change::MakesYoung {
            self.trace.change = Change::AllYoung;
        }
    }

    /// A collection begins although all objects are young: they have no live bits, in blocks that wait for their sweep.
    pub(in crate::plan) fn leave_youth(&mut self) {
        if self.all_are_young() {
            self.note_youth();
            self.bump.blocks.touch_all();
        }
    }

    /// None of the objects that were promoted is left: they are promoted anew.
    fn note_youth(&mut self) {
        self.trace.change = Change::None;
        self.statistics.promoted_objects = self.statistics.freed_mature_objects;
    }

    pub(in crate::plan::deferred) fn make_survivor_young(&self, object: ObjectRef) {
        object.remove_flags(flag::MATURE);
        object.set_stamp(self.clock.epoch);
    }

    /// From now on the heap counts again: all objects are young. A flip must follow before the program goes on.
    pub fn count_again(&mut self) {
        debug_assert!(self.all_are_young());
        self.large.make_young(self.clock.epoch);
        self.note_youth();
        self.trace.ages = false;
        self.begin_counting();
    }
}
