//! A safepoint at which a few objects wait and nothing else is due: most drains of programs that move objects about. `[PENDING]`
//!
//! ```text
//!   packet = queue.first;  queue.first = packet.next;  …call…;  other.last = packet
//! ```
//!
//! The first write takes the last count from an object that a register still holds, so the object waits on the pending list until it is
//! counted again. Each safepoint meanwhile is a drain in which nothing dies. Here such a drain takes the objects that are counted
//! again off the list, leaves those that a word in flight leads to, takes the others apart, and has ended. Where anything else waits, or
//! a finalizer is to run, it answers no, and the whole drain goes on with the structure it was at and with the rest of the list, in the
//! same order. Where it does so again and again, some drains take the whole way at once.
//!
//! While a structure is taken apart, objects in flight have one count more: so none of them dies with it, and the loop of
//! `release_stack` need not ask about each object whether it is protected. One that has no other count left is pending behind it.
//!
//! Expected cost: 20 loads and tests of what may be due, and the loop of `release_stack`.

use super::release_stack::{ReleaseStack, Shape, Stop};
use super::{Bin, Cascade, CellSpace};
use crate::heap::Heap;
use crate::memory::range;
use crate::object::{HEADER_BYTES, ObjectRef, prompt_flag};
use crate::plan::prompt::reclaim::Step;
use smallvec::SmallVec;

/// Pending objects that a quick drain looks at, at most.
const LOOKED_AT_MAX: usize = 16;
/// Objects in flight while a structure is taken apart, at most.
const HELD_MAX: usize = 8;
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
        let lends = context.address_taken != 0;
        let prompt = &self.prompt;
        let is_inside = prompt.drain_from != 0 || !prompt.protected.is_empty();
        let is_busy = is_inside || !prompt.cascades.is_empty() || prompt.address_taken.is_due();
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

    /// Goes through the pending list up to the first object that dies and is not freed here; whether there was none.
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
            } else if self.prompt.sliced_drains {
                is_through = false;
                break;
            } else {
                object.remove_flags(prompt_flag::PENDING);
                self.prompt.units_left = i64::MAX;
                at += 1;
                if !self.dies_quickly(object, words) {
                    is_through = false;
                    break;
                }
                continue;
            }
            at += 1;
        }
        if kept != at {
            self.close_gap(kept, at);
        }
        is_through
    }

    /// Frees an object that is off the list, and takes apart what dies with it. False if a finalizer is to run: the structure is the one
    /// that the whole drain begins with.
    #[inline(always)]
    fn dies_quickly(&mut self, object: ObjectRef, words: &[u64]) -> bool {
        self.dies_alone(object) || self.takes_others_along(object, words)
    }

    #[inline(always)]
    fn takes_others_along(&mut self, object: ObjectRef, words: &[u64]) -> bool {
        object.set_count(object.count() + 1);
        if words.is_empty() { self.lets_go(object) } else { self.lets_go_in_flight(object, words) }
    }

    /// The same while references are in flight.
    #[inline(never)]
    fn lets_go_in_flight(&mut self, object: ObjectRef, words: &[u64]) -> bool {
        let Some(held) = self.hold_in_flight(words) else {
            return self.leaves_begun(Cascade::begun(object, &ReleaseStack::default()));
        };
        let is_done = self.lets_go(object);
        self.let_go_of(&held);
        is_done
    }

    /// Releases a reference, and those that wait behind it.
    #[inline(never)]
    fn lets_go(&mut self, object: ObjectRef) -> bool {
        let mut stack = ReleaseStack::default();
        let (mut shape, mut bin) = (Shape::none(false), Bin::default());
        let prompt = &mut self.prompt;
        let stop = stack.let_go_here(object, 0, &mut prompt.units_left, &mut shape, (&mut bin, &mut prompt.cells));
        bin.empty();
        match stop {
            Stop::Empty => true,
            Stop::UnitsEnd(next) | Stop::Beyond(next) => self.takes_apart(Cascade::begun(next, &stack)),
        }
    }

    /// Goes on with a structure of which more has to be looked at.
    #[inline(never)]
    fn takes_apart(&mut self, mut cascade: Cascade) -> bool {
        match self.take_apart(&mut cascade) {
            // What died may have left work to a service.
            Step::Done => !self.service_is_due(),
            Step::Finalize(object) => {
                cascade.add(object);
                self.leaves_begun(cascade)
            }
            Step::SliceEnds => self.leaves_begun(cascade),
        }
    }

    #[cold]
    fn leaves_begun(&mut self, cascade: Cascade) -> bool {
        self.prompt.cascades.push(cascade);
        self.prompt.has_begun = true;
        false
    }

    /// Gives the objects in flight one count more each; `None` if they are too many.
    #[inline(always)]
    fn hold_in_flight(&mut self, words: &[u64]) -> Option<SmallVec<[ObjectRef; HELD_MAX]>> {
        let mut held = SmallVec::new();
        if !words.is_empty() {
            self.refresh_pointer_masks();
        }
        for &word in words {
            for place in 0..=self.prompt.pointer_masks.len() {
                let mask = if place == 0 { u64::MAX } else { self.prompt.pointer_masks[place - 1] };
                if !range::in_heap(word & mask) {
                    continue;
                }
                let Some(object) = self.object_in_flight(word & mask).filter(|object| !held.contains(object)) else {
                    continue;
                };
                if held.len() == HELD_MAX {
                    self.let_go_of(&held);
                    return None;
                }
                object.increment_exact();
                held.push(object);
            }
        }
        Some(held)
    }

    /// Takes those counts back. What has no other is pending, and stays so while it is in flight.
    #[inline(always)]
    fn let_go_of(&mut self, held: &[ObjectRef]) {
        held.iter().for_each(|&object| self.decrement_root(object));
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
