//! What follows the running stack, exchanged in a switch: frames that lend roots, the head of LLVM's shadow stack, the
//! place where scoped handles end; and the image of the stack that goes on.

use super::{Record, State, frames, refuse, set_current};
use crate::stack::shadow_stack;
use tally_heap::Heap;

impl Record {
    /// It stops in a call of the runtime.
    #[inline(always)]
    pub(super) fn stops(&self, heap: &mut Heap) {
        let context = heap.context_mut();
        self.address_taken.set(context.address_taken);
        self.address_taken_high.set(context.address_taken_high);
        if !self.has_run.get() {
            self.note_ran();
        }
    }

    /// It has stopped, and its state says whether it waits.
    #[inline(always)]
    pub(super) fn is_left(&self, heap: &mut Heap) {
        self.shadow.set(shadow_stack::leave_stack(self.bounds()));
        if self.address_taken.get() != 0 || heap.has_address_taken_stores() {
            frames::lay_down_address_taken(heap, self);
        }
    }

    /// It waits: scoped handles may be open on it until it goes on.
    #[inline(always)]
    pub(super) fn note_handles(&self, heap: &mut Heap) {
        self.handle_top.set(heap.context_mut().handle_top);
    }

    /// Scoped handles are closed in the order of their scopes, and a stack that is suspended would keep its own open.
    #[inline(always)]
    pub(super) fn check_handles(&self, heap: &mut Heap) {
        if heap.context_mut().handle_top != self.handle_top.get() {
            refuse(
                "a stack is left while a scope of handles is open that was opened on it; close it first, or use global \
                 handles",
            );
        }
    }

    /// It goes on.
    #[inline(always)]
    pub(super) fn goes_on(&self, heap: &mut Heap) {
        let waited = self.state.replace(State::Running) == State::Waiting;
        let context = heap.context_mut();
        if waited && context.handle_top != self.handle_top.get() {
            refuse("a stack goes on while a scope of handles is open that was opened on another; close it first");
        }
        self.handle_top.set(context.handle_top);
        context.address_taken = self.address_taken.get();
        context.address_taken_high = self.address_taken_high.get();
        set_current(Some(self));
        if self.shadow.get() != 0 {
            shadow_stack::enter_stack(self.shadow.take());
        }
        if self.is_laid_down.get() {
            frames::take_up(heap, self);
        }
    }
}
