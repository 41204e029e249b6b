//! Company: the objects that die together with one that waits for its finalizer. `[RECLAIM]` `[BOUND]`
//!
//! Deferred plan. An object that died by counting keeps its references until its finalizer has run, and what it holds
//! would die at the next epoch at the earliest: a list of a thousand such objects took as many epochs. So their finalizers
//! become due together, as those of a ring do:
//!
//! > A mature object with count 1 to which a dead object refers is dead. (Counts are those of a flip, at which the
//! > dead object was dead; its references are counted. So there was no other one, and no root. The program has not come by
//! > one since, unless a weak slot yielded the object: what has a record is left to counting.)
//!
//! An object with such a finalizer is held and queued, and followed in turn, as is one without: until all have run it is whole.
//! Left to counting are objects to which several of the dead refer, and types that ask for owners first.
//!
//! Each object is visited once, since one reference leads to it. The finalizers of an epoch do not begin before all are
//! found, or one could bring back an object that is still followed.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use tally_heap::descriptor::FinalizeOrder;
use tally_heap::object::flag;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

impl DeferredDriver {
    /// An object was found dead that waits for its finalizer.
    pub(crate) fn follow_company(&mut self, object: ObjectRef) {
        if object.type_info().finalize_order != FinalizeOrder::OwnerFirst {
            self.company.push((object, 0));
        }
    }

    /// Looks at the references of one object, or of one chunk of it; units of work.
    pub(crate) fn find_company(&mut self, heap: &mut Heap, object: ObjectRef, chunk: u64) -> i64 {
        let part = if object.has(flag::LARGE) { Part::Chunk(chunk) } else { Part::Whole };
        if object.has(flag::LARGE) && chunk + 1 < heap.large.stamps(object).len() as u64 {
            self.company.push((object, chunk + 1));
        }
        let mut references = 0;
        object.type_info().for_each_reference(object, part, |target| {
            references += 1;
            if dies_with_its_holder(target) {
                if target.needs_finalizer() {
                    heap.await_finalizer(target);
                }
                self.follow_company(target);
            }
        });
        2 + references
    }

    /// Whether the next flip is to wait: for the passes of the last one, or because finalizers wait for deaths that go on. A flip would make
    /// their set larger, and each next one would: where a program lets go of as much as it makes, the set would never be complete.
    pub(crate) fn flip_waits(&self, heap: &Heap) -> bool {
        let set_is_incomplete = || self.set_waits && self.has_dying(heap) && !heap.services.finalizers.queue.is_empty();
        self.phase != Phase::Idle || set_is_incomplete()
    }

    /// The set of the epoch's dead is complete when the epoch has ended, and the deaths that go on beside the program have.
    pub(crate) fn release_complete_set(&mut self, heap: &mut Heap) {
        if self.set_waits && self.phase == Phase::Idle && !self.has_dying(heap) {
            self.set_waits = false;
            heap.release_finalizers();
        }
    }
}

fn dies_with_its_holder(object: ObjectRef) -> bool {
    let plain = object.is_mature() && object.count() == 1 && !object.has(flag::DEAD | flag::SPECIAL);
    plain && object.type_info().finalize_order != FinalizeOrder::OwnerFirst
}
