//! Objects with finalizers under the deferred plan: the young ones are listed, the mature ones are found by a walk.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, flag};
use crate::plan::deferred::count::STUCK;

impl Heap {
    /// The object's finalizer is to run when it is found dead. Young objects are listed: a dead one is never touched otherwise.
    #[inline(always)]
    pub(crate) fn list_registered(&mut self, object: ObjectRef) {
        self.services.finalizers.due += 1;
        // One that is pending is reachable: it will be promoted.
        if !object.is_mature() && object.stamp() == self.clock.epoch {
            self.services.finalizers.young.current.push(object);
        }
    }

    /// The object is on the queue, which holds it by one count, and has more. Of a stuck count the mark that found it dead has
    /// noted whether others hold it.
    pub(crate) fn is_counted_beside_queue(&self, object: ObjectRef) -> bool {
        match object.count() {
            STUCK => object.has(flag::FOUND),
            count => count > 1,
        }
    }

    /// Puts every object of which `is_due` in front of the queue. Returns how many there are.
    pub(crate) fn queue_mature_finalizable(&mut self, is_due: &dyn Fn(ObjectRef) -> bool) -> usize {
        if self.services.finalizers.due == 0 {
            return 0;
        }
        // Afterwards no object is young, and no mark is running.
        self.with_driver(|driver, heap| driver.collect(heap));
        let (held, others) = self.take_queue(is_due);
        held.iter().for_each(|object| object.add_flags(flag::FOUND));
        let mut found = List::new();
        self.for_each_mature(|heap, object| {
            if object.is_known_dead() || !is_due(object) {
                return;
            }
            if !object.has(flag::FOUND) {
                heap.increment(object);
            }
            object.remove_flags(flag::FOUND);
            found.push(object);
        });
        self.put_first_in_the_queue(found, others)
    }
}
