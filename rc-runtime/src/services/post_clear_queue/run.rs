//! Callbacks and map entries after weak slots were cleared.

use crate::heap::{Heap, HeapEntry};
use crate::object::ObjectRef;
use crate::services::builtin;

impl Heap {
    /// Queues the object, once.
    pub(crate) fn queue_post_clear(&mut self, object: ObjectRef) {
        let post_clear = &mut self.services.specials.post_clear;
        let place = post_clear.end();
        let rest = self.rest(object);
        if rest.post_clear.is_some() {
            return;
        }
        rest.post_clear = Some(place);
        self.services.specials.post_clear.queue.push_back(Some(object));
        self.request_callbacks();
    }

    /// The object dies: takes it off the queue.
    pub(crate) fn remove_post_clear(&mut self, object: ObjectRef) {
        if let Some(place) = self.rest_of(object).and_then(|rest| rest.post_clear.take()) {
            let post_clear = &mut self.services.specials.post_clear;
            post_clear.queue[(place - post_clear.done) as usize] = None;
        }
    }

    pub(in crate::services::post_clear_queue) fn next_post_clear(&mut self) -> Option<ObjectRef> {
        let post_clear = &mut self.services.specials.post_clear;
        loop {
            let next = post_clear.queue.pop_front()?;
            post_clear.done += 1;
            if let Some(object) = next {
                self.rest(object).post_clear = None;
                self.tidy_special(object);
                return Some(object);
            }
        }
    }

    /// Runs the entries due by now, as far as callbacks have their turn; entries they add are due later. Returns false when the turn has ended before.
    pub(crate) fn run_post_clear(mut heap: HeapEntry) -> bool {
        if !heap.services.specials.post_clear.are_due() || heap.services.finalizers.depth() > 0 {
            return true;
        }
        // Callbacks that always bring more take turns with finalizers.
        let had_turn = std::mem::take(&mut heap.services.specials.post_clear.had_turn);
        let finalizers_wait = had_turn && !heap.services.finalizers.queue.is_empty();
        if !heap.services.finalizers.collecting && (finalizers_wait || !heap.finalizers_have_their_turn()) {
            heap.put_callbacks_off();
            return false;
        }
        let (mut turn, mut has_turn) = (heap.begin_turn(), true);
        heap.services.specials.post_clear.running = true;
        let end = heap.services.specials.post_clear.end();
        while has_turn
            && heap.services.specials.post_clear.done < end
            && let Some(object) = heap.next_post_clear()
        {
            if heap.upgrade(object).is_none() {
                continue;
            }
            match builtin::callback_of(object) {
                Some(callback) => {
                    heap.hold(object);
                    Heap::call_program(heap, object, callback);
                    heap.let_go(object);
                    has_turn = heap.has_turn(&mut turn);
                }
                None => {
                    for slot in object.type_info().reference_slots(object) {
                        heap.write(object, slot, 0);
                    }
                }
            }
        }
        heap.services.specials.post_clear.running = false;
        heap.services.specials.post_clear.had_turn = !has_turn;
        if heap.services.specials.post_clear.are_due() {
            heap.put_callbacks_off();
        }
        has_turn
    }
}
