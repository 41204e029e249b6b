//! The lists of objects that a collection must look at although they may be dead, or must not free although no root
//! reaches them.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::BUFFERED;
use crate::object::{ObjectRef, flag};
use crate::services::special::AWAITS_FINALIZER;

impl Heap {
    /// Whether the object was found dead and its finalizer has not run: weak slots yield it no more. `[WEAK]`
    pub(crate) fn awaits_finalizer(&self, object: ObjectRef) -> bool {
        let record = self.services.specials.record(self.number_of(object));
        record.is_some_and(|record| record.has(AWAITS_FINALIZER))
    }

    /// Ends a hold of the object, if there is one. Holds end in the reverse order of their beginning, as calls do.
    pub(crate) fn end_hold(&mut self, object: ObjectRef) {
        if let Some(place) = self.trace.held.iter().rposition(|&held| held == object) {
            self.trace.held.remove(place);
        }
    }

    /// Ends the holds of calls that `longjmp` has left: their objects count as done. So do those whose finalizers have run,
    /// which are held no more.
    pub(crate) fn end_holds_of_left_calls(&mut self) {
        while let Some(object) = self.services.finalizers.done.pop() {
            self.end_hold(object);
        }
    }

    /// Lists an object that has become special.
    pub(crate) fn list_special(&mut self, object: ObjectRef) {
        if !BUFFERED.get(object.granule()) {
            BUFFERED.set(object.granule());
            self.trace.special.push(object);
        }
    }

    /// Lists an object whose finalizer is to run.
    #[inline(always)]
    pub(crate) fn list_finalizable(&mut self, object: ObjectRef) {
        self.services.finalizers.due += 1;
        self.trace.finalizable.push(object);
    }

    /// Makes the object a root of all collections.
    pub(crate) fn make_immortal_root(&mut self, object: ObjectRef) {
        if !object.has(flag::IMMORTAL) {
            object.add_flags(flag::IMMORTAL);
            self.services.immortals.counted.push(object);
        }
    }

    /// Puts every object for which `is_due` is true in front of the queue. Returns their number.
    pub(crate) fn queue_listed_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> usize {
        // Afterwards the list has no dead objects.
        self.with_driver(|driver, heap| driver.collect(heap));
        let (_, others) = self.take_queue(is_due);
        let found: List<ObjectRef> = self.trace.finalizable.iter().copied().filter(|&object| is_due(object)).collect();
        self.put_first_in_the_queue(found, others)
    }

    /// The objects that a collection begins with beside those that roots hold: they are held for a call, or are
    /// immortal. Objects that wait for their finalizers are judged anew.
    pub fn for_each_held(&self, mut visit: impl FnMut(ObjectRef)) {
        self.trace.held.iter().copied().for_each(&mut visit);
        self.services.immortals.new.iter().copied().for_each(&mut visit);
        self.services.held_beside_lists().for_each(visit);
    }

    /// Takes the registered objects, each once, those left out whose registration was taken back.
    pub fn take_finalizable(&mut self) -> List<ObjectRef> {
        let mut listed = std::mem::take(&mut self.trace.finalizable);
        listed.iter().for_each(|object| object.remove_flags(flag::FOUND));
        listed.retain(|object| {
            let is_first = object.needs_finalizer() && !object.has(flag::FOUND);
            // Nothing would take it back from what leaves the list.
            if is_first {
                object.add_flags(flag::FOUND);
            }
            is_first
        });
        listed.iter().for_each(|object| object.remove_flags(flag::FOUND));
        listed
    }

    /// The registered objects of [`take_finalizable`](Self::take_finalizable), all of which live on.
    pub fn put_finalizable_back(&mut self, listed: List<ObjectRef>) {
        debug_assert!(self.trace.finalizable.is_empty());
        self.trace.finalizable = listed;
    }

    /// Takes the list of special objects, those that `is_dead` selects first, with their number. Objects that are
    /// special no more leave it. No memory is needed.
    pub fn take_special(&mut self, is_dead: impl Fn(ObjectRef) -> bool) -> (List<ObjectRef>, usize) {
        let (mut listed, mut dead) = (std::mem::take(&mut self.trace.special), 0);
        listed.retain(|object| {
            let stays = object.has(flag::SPECIAL);
            if !stays {
                BUFFERED.clear(object.granule());
            }
            stays
        });
        for place in 0..listed.len() {
            if is_dead(listed[place]) {
                listed.swap(dead, place);
                dead += 1;
            }
        }
        (listed, dead)
    }

    /// Puts the list back, without the objects that `is_dead` selects; whatever became special meanwhile joins it.
    pub fn put_special_back(&mut self, mut listed: List<ObjectRef>, is_dead: impl Fn(ObjectRef) -> bool) {
        listed.retain(|&object| {
            let dies = is_dead(object);
            if dies {
                BUFFERED.clear(object.granule());
            }
            !dies
        });
        listed.extend(std::mem::take(&mut self.trace.special));
        self.trace.special = listed;
    }

    /// Queues those of `listed` that `is_dead` selects and that do not wait yet: their finalizers run at the next
    /// safepoint. Weak slots yield them no more.
    pub fn queue_found_dead(&mut self, listed: &[ObjectRef], is_dead: impl Fn(ObjectRef) -> bool) {
        let waiting = self.services.finalizers.queue.len();
        for place in 0..waiting {
            self.services.finalizers.queue[place].add_flags(flag::FOUND);
        }
        for &object in listed.iter().filter(|&&object| is_dead(object) && !object.has(flag::FOUND)) {
            self.note_waiting(object, true);
            self.services.finalizers.queue.push_back(object);
        }
        for place in 0..waiting {
            self.services.finalizers.queue[place].remove_flags(flag::FOUND);
        }
    }

    /// The objects that wait for their finalizers. One that something else than the queue holds has the flag `FOUND`
    /// after a collection, and its finalizer runs behind the owner's if its type asks for that.
    pub fn waiting_for_finalizers(&self) -> &[ObjectRef] {
        &self.services.finalizers.queue
    }
}
