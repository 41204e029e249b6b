//! Finalizers are registered, found due, put in order and run.

use super::ROUNDS_MAX;
use crate::descriptor::FinalizeOrder;
use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::memory::range::MARK;
use crate::object::{ObjectRef, flag};
use crate::services::finalizer::exit::owners_first;
use crate::services::special::AWAITS_FINALIZER;
use crate::type_registry::{self, TypeInfo};
use std::cmp::Reverse;

impl Heap {
    /// An object of a type with a finalizer was allocated.
    pub(crate) fn note_birth_with_finalizer(&mut self, object: ObjectRef, info: &TypeInfo) {
        if object.needs_finalizer() {
            self.note_registration(object, info);
        }
    }

    /// The object's finalizer is to run when it is found dead, also if it has run before. False: its type has none.
    pub fn register_finalizer(&mut self, object: ObjectRef) -> bool {
        let info = object.type_info();
        if info.has_finalizer && object.has(flag::FINALIZED) {
            object.remove_flags(flag::FINALIZED);
            self.note_registration(object, info);
        }
        info.has_finalizer
    }

    /// The object's finalizer is not to run, also if the object was found dead already.
    pub fn forget_finalizer(&mut self, object: ObjectRef) {
        if object.needs_finalizer() {
            self.end_registration(object);
        }
    }

    pub(in crate::services::finalizer::queue) fn note_registration(&mut self, object: ObjectRef, info: &TypeInfo) {
        self.services.finalizers.registrations += 1;
        if info.finalize_order == FinalizeOrder::Reverse {
            let number = self.services.finalizers.registrations;
            self.rest(object).registration = number;
        }
        self.note_registered(object);
    }

    /// Its finalizer runs now, or never.
    pub(in crate::services::finalizer) fn end_registration(&mut self, object: ObjectRef) {
        object.add_flags(flag::FINALIZED);
        self.note_unregistered();
        if object.has(flag::SPECIAL) {
            if let Some(rest) = self.rest_of(object) {
                rest.registration = 0;
            }
            self.note_waiting(object, false);
            self.tidy_special(object);
        }
    }

    /// At a flip: the young become pending.
    pub fn flip_finalizers(&mut self) {
        self.services.finalizers.chained &= !self.services.finalizers.queue.is_empty();
        let young = &mut self.services.finalizers.young;
        debug_assert!(young.pending.is_empty() && young.found.is_empty());
        std::mem::swap(&mut young.current, &mut young.pending);
    }

    /// Deferred plan, when the increments of the flip are done and weak references are cleared: finds the dead young
    /// objects that have finalizers, then holds them. Does up to `units` of work; returns the units left, and whether all are on
    /// the queue.
    pub(crate) fn judge_young_finalizable(&mut self, mut units: i64) -> (i64, bool) {
        while let Some(object) = self.services.finalizers.young.pending.pop() {
            // More than once: it was forgotten and registered again.
            if !object.is_mature() && object.needs_finalizer() && !object.has(flag::FOUND) {
                object.add_flags(flag::FOUND);
                self.services.finalizers.young.found.push(object);
            }
            units -= 2;
            if units <= 0 {
                return (units, false);
            }
        }
        while let Some(object) = self.services.finalizers.young.found.pop() {
            object.remove_flags(flag::FOUND);
            self.await_finalizer(object);
            units -= 2;
            if units <= 0 {
                return (units, self.services.finalizers.young.found.is_empty());
            }
        }
        (units, true)
    }

    /// Deferred plan: the object was found dead and has a finalizer. It is held until that has run.
    pub fn await_finalizer(&mut self, object: ObjectRef) {
        self.hold_for_finalizer(object);
        self.services.finalizers.queue.push_back(object);
    }

    /// The same as part of a set that the mark has not found all of.
    pub fn await_finalizer_with_others(&mut self, object: ObjectRef) {
        object.remove_flags(flag::FOUND);
        self.hold_for_finalizer(object);
        self.services.finalizers.found_by_mark.push(object);
    }

    /// The set, as far as the mark has found it.
    pub fn found_by_mark(&self) -> &[ObjectRef] {
        &self.services.finalizers.found_by_mark
    }

    /// The mark has found all that it could.
    pub fn queue_found_by_mark(&mut self) {
        let found = std::mem::take(&mut self.services.finalizers.found_by_mark);
        self.services.finalizers.queue.append(found);
    }

    pub(in crate::services::finalizer::queue) fn hold_for_finalizer(&mut self, object: ObjectRef) {
        debug_assert!(object.needs_finalizer());
        self.increment(object);
        self.note_waiting(object, true);
        if self.mark_phase().keeps_the_dead() && object.is_mature() && !MARK.get(object.granule()) {
            MARK.set(object.granule());
            self.push_marked(object);
        }
    }

    /// The object waits for its finalizer, or does no more: it has a record if anything could yield it meanwhile.
    pub(crate) fn note_waiting(&mut self, object: ObjectRef, waits: bool) {
        if waits && self.is_in_map(object) {
            // Its map could.
            self.make_number(object);
        }
        if let Some(record) = self.special_of(object) {
            record.set(AWAITS_FINALIZER, waits);
        }
        let epoch = self.clock.epoch;
        self.zeal.iter_mut().for_each(|zeal| zeal.note_waiting(object, waits, epoch));
    }

    /// The epoch has ended: its set is complete. Deaths go on beside the program, and what they add to the queue from here on is of
    /// the next.
    pub fn release_finalizers(&mut self) {
        self.services.finalizers.complete = self.services.finalizers.queue.len();
        self.services.finalizers.ready = false;
        if self.services.finalizers.complete > 0 || self.services.specials.post_clear.are_due() {
            self.finalizers_are_ready();
        }
    }

    /// Something waits for the next safepoint.
    pub(crate) fn finalizers_are_ready(&mut self) {
        self.services.finalizers.ready = true;
        self.due_at_allocation = true;
    }

    /// Deferred plan, at the end of a safepoint: runs the finalizers of the objects found dead.
    pub fn run_finalizers(mut heap: HeapEntry) {
        if heap.services.finalizers.depth() > 0 {
            Heap::end_left_calls(heap);
            if heap.services.finalizers.depth() > 0 {
                return;
            }
        }
        if heap.judges_the_queue() {
            return heap.request_finalizer_turn();
        }
        heap.services.finalizers.ready = false;
        Heap::run_post_clear(heap);
        let complete = std::mem::take(&mut heap.services.finalizers.complete);
        if complete > 0 {
            heap.services.finalizers.left_in_set = heap.order_finalizers(complete);
        }
        Heap::run_set(heap);
        if heap.services.finalizers.takes_wanted_collection() {
            Heap::collect(heap);
        }
    }

    /// Runs finalizers of the set, as many as have their turn; the others wait for the next safepoint.
    pub(in crate::services::finalizer::queue) fn run_set(mut heap: HeapEntry) {
        let waits = !heap.services.finalizers.collecting && !heap.finalizers_have_their_turn();
        let mut turn = heap.begin_turn();
        while heap.services.finalizers.left_in_set > 0 {
            // A collection in slices that judges the dead, begun by one of them, goes through the queue by places.
            if waits || heap.judges_the_queue() || !heap.has_turn(&mut turn) {
                heap.request_finalizer_turn();
                return;
            }
            let Some(object) = heap.take_waiting() else { break };
            heap.services.finalizers.left_in_set -= 1;
            Heap::run_waiting(heap, object);
        }
        heap.services.finalizers.left_in_set = 0;
    }

    /// Takes the first of the queue: its finalizer runs next. A mark that has not come to it sees it now.
    pub(in crate::services::finalizer) fn take_waiting(&mut self) -> Option<ObjectRef> {
        let object = self.services.finalizers.queue.pop_front()?;
        self.services.finalizers.complete = self.services.finalizers.complete.saturating_sub(1);
        self.services.finalizers.ordered = self.services.finalizers.ordered.saturating_sub(1);
        self.show_in_snapshot(object);
        if self.services.finalizers.unshown > 0 {
            self.services.finalizers.unshown -= 1;
            self.show_to_mark(object);
        }
        Some(object)
    }

    /// The queue's order is about to change: the running mark sees all of it that it has not come to.
    pub(in crate::services::finalizer::queue) fn show_waiting(&mut self) {
        while let Some(left) = self.services.finalizers.unshown.checked_sub(1) {
            self.services.finalizers.unshown = left;
            self.show_to_mark(self.services.finalizers.queue[left]);
        }
    }

    /// Runs the finalizer of an object that was taken off the queue, unless it is not to run any more.
    pub(crate) fn run_waiting(mut heap: HeapEntry, object: ObjectRef) {
        heap.forget_owner(object);
        if object.needs_finalizer() {
            Heap::finalize(heap, object);
        }
        let finalizers = &mut heap.services.finalizers;
        // Registered anew: a collection that is running does not find it dead again.
        let again = finalizers.collecting && object.needs_finalizer();
        if again { &mut finalizers.later } else { &mut finalizers.done }.push(object);
    }

    /// Deferred plan, when a collection in parts has come to its end: runs finalizers. True when there is no reason to
    /// collect again for their sake: none has run, or they register objects anew, and would do so without end.
    pub(crate) fn finalizers_are_done(heap: HeapEntry) -> bool {
        let registrations = heap.services.finalizers.registrations;
        let none = heap.services.finalizers.queue.is_empty() && !heap.services.specials.post_clear.are_due();
        if heap.services.finalizers.depth() > 0 || none {
            return true;
        }
        Heap::run_finalizers(heap);
        heap.services.finalizers.registrations != registrations
    }

    /// Deferred plan: collects until finalizers have nothing more to say.
    pub(crate) fn collect_in_rounds(mut heap: HeapEntry) -> u64 {
        if heap.services.finalizers.depth() > 0 {
            Heap::end_left_calls(heap);
        }
        if heap.services.finalizers.depth() > 0 || heap.services.finalizers.collecting {
            heap.services.finalizers.collect_wanted = true;
            return 0;
        }
        let freed = heap.statistics.freed_objects();
        let registrations = heap.services.finalizers.registrations;
        heap.services.finalizers.collecting = true;
        for round in 1.. {
            heap.with_driver(|driver, heap| driver.collect(heap));
            if heap.services.finalizers.queue.is_empty() && !heap.services.specials.post_clear.are_due() {
                break;
            }
            let called = heap.services.finalizers.called;
            Heap::run_finalizers(heap);
            Heap::run_chain(heap, registrations);
            if round >= crate::services::post_clear_queue::ROUNDS_MAX && heap.services.finalizers.called != called {
                break;
            }
            if round >= ROUNDS_MAX && heap.services.finalizers.registrations != registrations {
                break;
            }
        }
        let finalizers = &mut heap.services.finalizers;
        finalizers.done.append(&mut finalizers.later);
        (finalizers.collecting, finalizers.collect_wanted) = (false, false);
        heap.freed_since(freed)
    }

    /// In a collection, when finalizers have run: what had its last reference from their objects is found by an epoch, and finalized
    /// in its turn, and so on, unless finalizers have registered objects since there were so many `registrations`. Of a list whose
    /// types ask for owners first two epochs find a link; to look at the whole heap for each took quadratic time.
    pub(in crate::services::finalizer::queue) fn run_chain(mut heap: HeapEntry, registrations: u64) {
        while heap.services.finalizers.registrations == registrations {
            heap.with_driver(|driver, heap| driver.epoch(heap));
            if heap.services.finalizers.queue.is_empty() {
                break;
            }
            Heap::run_finalizers(heap);
        }
    }

    /// Puts the first `count` of the queue in the order in which they are to run, and takes off those that wait for their owner.
    /// Returns how many are left of them.
    pub(crate) fn order_finalizers(&mut self, count: usize) -> usize {
        if !type_registry::has_ordered_finalizers() {
            return count;
        }
        self.show_waiting();
        let waiting = &mut self.services.finalizers.queue;
        let set: List<ObjectRef> = (0..count).filter_map(|_| waiting.pop_front()).collect();
        let set = self.in_order(set);
        let (count, others) = (set.len(), std::mem::take(&mut self.services.finalizers.queue));
        self.services.finalizers.queue = set.into_iter().chain(others).collect();
        count
    }

    /// Prompt plan: does the same with those that have joined the queue since the last time. Once for each: a queue of many is run in
    /// many turns.
    pub(crate) fn order_new_finalizers(&mut self) {
        let finalizers = &mut self.services.finalizers;
        if type_registry::has_ordered_finalizers() && finalizers.ordered < finalizers.queue.len() {
            let set = finalizers.queue.split_off(finalizers.ordered);
            let set = self.in_order(set);
            self.services.finalizers.queue.append(set);
        }
        self.services.finalizers.ordered = self.services.finalizers.queue.len();
    }

    /// A set in the order in which it is to run, without those that wait for their owner.
    fn in_order(&mut self, mut queue: List<ObjectRef>) -> List<ObjectRef> {
        let has_left = std::mem::take(&mut self.services.finalizers.leaves_owned);
        let order = |object: ObjectRef| object.type_info().finalize_order;
        let is_owned =
            |heap: &Heap, object| order(object) == FinalizeOrder::OwnerFirst && heap.is_held_beside_queue(object);
        let free = |heap: &Heap, object| order(object) == FinalizeOrder::OwnerFirst && !is_owned(heap, object);
        // An owner of another order runs first, too. A ring of owners beside such objects waits for one set at most.
        let owner =
            |heap: &Heap, object| order(object) != FinalizeOrder::OwnerFirst && !heap.is_held_beside_queue(object);
        let others_own = self.marks_find_all_owned() && queue.iter().any(|&object| owner(self, object));
        if queue.iter().any(|&object| free(self, object)) || (others_own && !has_left) {
            let (owned, ready): (List<ObjectRef>, List<ObjectRef>) =
                queue.into_iter().partition(|&object| is_owned(self, object));
            queue = ready;
            self.services.finalizers.leaves_owned = !owned.is_empty();
            for object in owned {
                self.let_go_after_finalizer(object);
            }
        } else if others_own {
            // They have waited for those of another order, which live on. Of each other they still ask for owners first.
            let (owners, mut all): (List<ObjectRef>, List<ObjectRef>) =
                queue.into_iter().partition(|&object| order(object) == FinalizeOrder::OwnerFirst);
            all.extend(owners_first(&owners, |_| false).unwrap_or(owners));
            queue = all;
        }
        if queue.iter().any(|&object| order(object) == FinalizeOrder::Reverse) {
            self.sort_latest_first(&mut queue);
        }
        queue
    }

    /// Those registered last come first, and those that have no number last; else the order stays.
    pub(in crate::services::finalizer) fn sort_latest_first(&mut self, objects: &mut [ObjectRef]) {
        let number = |heap: &mut Heap, object| heap.rest_of(object).map_or(0, |rest| rest.registration);
        let mut keys: List<(Reverse<u64>, usize, ObjectRef)> = List::with_capacity(objects.len());
        keys.extend(objects.iter().enumerate().map(|(at, &object)| (Reverse(number(self, object)), at, object)));
        // A stable sort would need memory of its own.
        keys.sort_unstable();
        keys.iter().zip(objects).for_each(|(&(_, _, object), place)| *place = object);
    }

    /// The count that held the object for its finalizer goes.
    pub(in crate::services::finalizer::queue) fn let_go_after_finalizer(&mut self, object: ObjectRef) {
        self.note_waiting(object, false);
        self.forget_owner(object);
        self.let_go(object);
    }
}
