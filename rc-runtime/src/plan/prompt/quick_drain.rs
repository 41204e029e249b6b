//! A safepoint at which a few objects wait and nothing else is due: most drains of programs that move objects about. `[PENDING]`
//!
//! ```text
//!   packet = queue.first;  queue.first = packet.next;  …call…;  other.last = packet
//! ```
//!
//! The first write takes the last count from an object that a register still holds, so the object waits on the pending list until it is
//! counted again. Each safepoint meanwhile is a drain in which nothing dies. Here such a drain takes the objects that are counted
//! again off the list, leaves those that a word in flight leads to, frees small ones that take no other along, and has ended. It
//! compares addresses, and looks no object up. Where anything else waits, or an object dies that takes others along, it
//! answers no, and the whole drain goes on with the rest of the list, in the same order. Where it does so again and again, some drains
//! take the whole way at once.
//!
//! Expected cost: 20 loads and tests of what may be due, and 15 instructions for each object.

use super::CellSpace;
use crate::heap::Heap;
use crate::memory::range;
use crate::object::{HEADER_BYTES, ObjectRef, prompt_flag};

/// Pending objects that a quick drain looks at, at most.
const LOOKED_AT_MAX: usize = 16;
/// Drains that take the whole way at once where quick ones came to no end one after the other, at most.
const PASSED_OVER_MAX: u8 = 7;

impl Heap {
    /// Does all that this safepoint has to do if that is little; otherwise false, and the rest is to be done.
    #[inline(always)]
    pub(super) fn drains_quickly(&mut self, words: &[u64]) -> bool {
        if self.prompt.quick_passed_over != 0 {
            self.prompt.quick_passed_over -= 1;
            return false;
        }
        let is_done = self.try_quickly(words);
        let prompt = &mut self.prompt;
        prompt.quick_back_off = if is_done { 0 } else { (prompt.quick_back_off * 2 + 1).min(PASSED_OVER_MAX) };
        prompt.quick_passed_over = prompt.quick_back_off;
        is_done
    }

    #[inline(never)]
    fn try_quickly(&mut self, words: &[u64]) -> bool {
        if self.may_need_the_whole() {
            return false;
        }
        self.apply_postponed();
        self.count_handles();
        if self.pending_len() > LOOKED_AT_MAX || !self.look_at_pending(words) {
            return false;
        }
        // Survivors may be candidates.
        if self.mark_wants_its_turn() || self.round_is_due() {
            return false;
        }
        self.prompt.leaves_rest = false;
        let left = self.pending_len();
        self.context_mut().pending = u64::from(left != 0);
        true
    }

    /// Whether a safepoint has, or may have, more to do than to look at pending objects.
    #[inline(always)]
    fn may_need_the_whole(&mut self) -> bool {
        let context = self.context_mut();
        let lends = context.lent != 0;
        let prompt = &self.prompt;
        let is_inside = prompt.drain_from != 0 || !prompt.protected.is_empty();
        let is_busy = is_inside || !prompt.cascades.is_empty() || prompt.lent.is_due();
        lends || is_busy || self.zeal.is_some() || self.service_is_due()
    }

    #[inline(always)]
    fn service_is_due(&self) -> bool {
        let finalizers = &self.services.finalizers;
        let finalizes = finalizers.depth() != 0 || !finalizers.queue.is_empty() || !finalizers.done.is_empty();
        let limits = self.services.external.is_due || self.limits.soft_is_due;
        let clears = self.services.specials.post_clear.are_due();
        finalizes || finalizers.collect_wanted || limits || clears || self.large.leaving.blocks() != 0
    }

    /// Goes through the pending list up to the first object that dies and is not freed alone; whether there was none.
    #[inline(always)]
    fn look_at_pending(&mut self, words: &[u64]) -> bool {
        let (mut at, mut kept) = (0, 0);
        let mut is_through = true;
        while at < self.pending_len() {
            let object = self.pending_at(at);
            if object.exact_count() != 0 {
                object.remove_flags(prompt_flag::PENDING);
                self.note_survivor(object);
            } else if words.contains(&object.address()) || self.is_in_flight(object, words) {
                self.put_pending(kept, object);
                kept += 1;
            } else if !self.frees_alone(object) {
                is_through = false;
                break;
            }
            at += 1;
        }
        if kept != at {
            self.close_gap(kept, at);
        }
        is_through
    }

    /// Frees an object that takes no other along; not where a slice has so many units.
    #[inline(always)]
    fn frees_alone(&mut self, object: ObjectRef) -> bool {
        if self.prompt.sliced_drains {
            return false;
        }
        self.prompt.units_left = i64::MAX;
        object.remove_flags(prompt_flag::PENDING);
        let dies = self.dies_alone(object);
        if !dies {
            object.add_flags(prompt_flag::PENDING);
        }
        dies
    }

    /// Whether one of the words leads into the object, as it is or by a mask of tagged words.
    #[inline(always)]
    fn is_in_flight(&mut self, object: ObjectRef, words: &[u64]) -> bool {
        !words.is_empty() && self.is_led_to(object, words)
    }

    #[inline(never)]
    fn is_led_to(&mut self, object: ObjectRef, words: &[u64]) -> bool {
        self.refresh_pointer_masks();
        let masks = &self.prompt.pointer_masks;
        if object.has(prompt_flag::LARGE) {
            let leads = |address: u64| range::in_heap(address) && self.object_in_flight(address) == Some(object);
            return words.iter().any(|&word| leads(word) || masks.iter().any(|mask| leads(word & mask)));
        }
        let (start, cell) = (object.address() - HEADER_BYTES, CellSpace::cell_of(object));
        let leads = |address: u64| address.wrapping_sub(start) < cell;
        words.iter().any(|&word| leads(word) || masks.iter().any(|mask| leads(word & mask)))
    }
}
