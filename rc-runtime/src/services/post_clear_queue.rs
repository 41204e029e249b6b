//! Errands: what is to be done with an object after weak slots were cleared, when the collector has returned.
//!
//! | object | errand |
//! |---|---|
//! | a weak reference with a callback | the callback is called, as ordinary mutator code |
//! | an entry of a weak map that has lost its value | it lets go of its key |
//!
//! The queue refers weakly itself: an object that dies first is taken off it. So the callback of a weak reference that
//! was part of the same garbage is never called, and can bring none of it back. `[WEAK]` Under the deferred plan the
//! object may be dead and not found yet: what a mark is about to condemn is passed over.
//!
//! Errands run where finalizers do: under the prompt plan at the end of a drain, after what died has died, under the
//! deferred plan at the end of a safepoint. With a pause goal callbacks take turns as finalizers do (`finalizer/turn.rs`). `[BOUND]`

use crate::heap::Heap;
use crate::memory::list::Queue;
use crate::object::ObjectRef;
use crate::services::builtin;

/// Rounds of a collection in which callbacks may have more callbacks called.
pub(crate) const ROUNDS_MAX: u32 = 100;

/// The queue. A record holds its object's place in it, counted from the first errand of all.
#[derive(Debug, Default)]
pub struct Errands {
    queue: Queue<Option<ObjectRef>>,
    done: u64,
    running: bool,
    /// The last turn ended before all that were due had been run.
    had_turn: bool,
}

impl Errands {
    /// Whether there are any, and they may be run here.
    #[inline(always)]
    pub fn are_due(&self) -> bool {
        !self.queue.is_empty() && !self.running
    }

    /// A callback will not return: the program has ended inside it. The others may run.
    pub(crate) fn abandon(&mut self) {
        self.running = false;
    }

    /// The place of the next that comes.
    fn end(&self) -> u64 {
        self.done + self.queue.len() as u64
    }
}

impl Heap {
    /// The object has an errand, once.
    pub(crate) fn add_errand(&mut self, object: ObjectRef) {
        let errands = &mut self.specials.errands;
        let place = errands.end();
        let rest = self.rest(object);
        if rest.errand.is_some() {
            return;
        }
        rest.errand = Some(place);
        self.specials.errands.queue.push_back(Some(object));
        self.request_callbacks();
    }

    /// The object dies: it has no errand any more.
    pub(crate) fn forget_errand(&mut self, object: ObjectRef) {
        if let Some(place) = self.rest_of(object).and_then(|rest| rest.errand.take()) {
            let errands = &mut self.specials.errands;
            errands.queue[(place - errands.done) as usize] = None;
        }
    }

    fn next_errand(&mut self) -> Option<ObjectRef> {
        let errands = &mut self.specials.errands;
        loop {
            let next = errands.queue.pop_front()?;
            errands.done += 1;
            if let Some(object) = next {
                self.rest(object).errand = None;
                self.tidy_special(object);
                return Some(object);
            }
        }
    }

    /// Runs what is due by now, as far as callbacks have their turn; what they bring is due later. False when the turn has ended before.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub(crate) unsafe fn run_errands(heap: *mut Heap) -> bool {
        // SAFETY: by the caller's promise; every borrow ends before a callback runs.
        unsafe {
            if !(*heap).specials.errands.are_due() || (*heap).finalizers.depth() > 0 {
                return true;
            }
            // Callbacks that always bring more take turns with finalizers.
            let had_turn = std::mem::take(&mut (*heap).specials.errands.had_turn);
            let finalizers_wait = had_turn && !(&*heap).finalizers.queue.is_empty();
            if !(*heap).finalizers.collecting && (finalizers_wait || !(*heap).finalizers_have_their_turn()) {
                (&mut *heap).put_callbacks_off();
                return false;
            }
            let (mut turn, mut has_turn) = ((*heap).begin_turn(), true);
            (*heap).specials.errands.running = true;
            let end = (&*heap).specials.errands.end();
            while has_turn
                && (*heap).specials.errands.done < end
                && let Some(object) = (&mut *heap).next_errand()
            {
                if (&mut *heap).upgrade(object).is_none() {
                    continue;
                }
                match builtin::callback_of(object) {
                    Some(callback) => {
                        (&mut *heap).hold(object);
                        Heap::call_program(heap, object, callback);
                        (&mut *heap).let_go(object);
                        has_turn = (&mut *heap).has_turn(&mut turn);
                    }
                    None => {
                        for slot in object.type_info().reference_slots(object) {
                            (&mut *heap).write(object, slot, 0);
                        }
                    }
                }
            }
            (*heap).specials.errands.running = false;
            (*heap).specials.errands.had_turn = !has_turn;
            if (*heap).specials.errands.are_due() {
                (&mut *heap).put_callbacks_off();
            }
            has_turn
        }
    }
}
