//! The post-clear queue: work on objects after weak slots were cleared, when the collector has returned.
//!
//! | object | work |
//! |---|---|
//! | a weak reference with a callback | the callback is called, as ordinary mutator code |
//! | an entry of a weak map that has lost its value | it releases its key |
//!
//! The queue refers weakly itself: an object that dies first is taken off it. So the callback of a weak reference that
//! was part of the same garbage is never called, and can bring none of it back. `[WEAK]` Under the deferred plan the
//! object may be dead and not found yet: what a mark is about to condemn is passed over.
//!
//! The queue runs where finalizers do: under the prompt plan at the end of a drain, after what died has died, under the
//! deferred plan at the end of a safepoint. With a pause goal callbacks take turns as finalizers do (`finalizer/turn.rs`). `[BOUND]`

use crate::heap::Heap;
use crate::memory::list::Queue;
use crate::object::ObjectRef;
use crate::plan::Plan;
use crate::services::builtin;

/// Rounds of a collection in which callbacks may have more callbacks called.
pub(crate) const ROUNDS_MAX: u32 = 100;

/// The queue. A record holds its object's place in it, counted from the first entry of all.
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
    /// Queues the object, once.
    pub(crate) fn add_errand(&mut self, object: ObjectRef) {
        let errands = &mut self.specials.errands;
        let place = errands.end();
        let rest = self.rest(object);
        if rest.errand.is_some() {
            return;
        }
        rest.errand = Some(place);
        self.specials.errands.queue.push_back(Some(object));
        match self.plan {
            Plan::Prompt => self.context_mut().pending = 1,
            Plan::Deferred => {
                self.finalizers_are_ready();
                self.set_poll(true);
            }
        }
    }

    /// The object dies: takes it off the queue.
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

    /// Runs the entries due by now, as far as callbacks have their turn; entries they add are due later. Returns false when the turn has ended before.
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
                (&mut *heap).errands_go_on();
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
                        (&mut *heap).count_one_more(object);
                        Heap::call_program(heap, object, callback);
                        (&mut *heap).count_one_less(object);
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
                (&mut *heap).errands_go_on();
            }
            has_turn
        }
    }

    /// Some are left: at the next safepoint. Under the prompt plan the end of the drain sees that.
    fn errands_go_on(&mut self) {
        if self.plan == Plan::Deferred {
            self.finalizers_are_ready();
            self.set_poll(true);
        }
    }

    fn count_one_more(&mut self, object: ObjectRef) {
        match self.plan {
            Plan::Deferred => self.increment(object),
            Plan::Prompt => object.increment_exact(),
        }
    }

    fn count_one_less(&mut self, object: ObjectRef) {
        match self.plan {
            Plan::Deferred => self.finalizers.done.push(object),
            Plan::Prompt => self.decrement_exact(object),
        }
    }
}
