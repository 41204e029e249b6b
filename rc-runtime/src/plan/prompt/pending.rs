//! The pending list: objects at zero, until the next safepoint. `[PENDING]`
//!
//! A count that reaches zero does not free at once: compiled code may hold the reference in a register, and will until the
//! next safepoint. The object is noted here, once (flag `PENDING`), and the list is *drained* at the safepoint. What has been
//! counted again meanwhile is taken off. What a word passed to the drain leads to (an argument of the call in progress, a
//! value being returned) stays for the next drain, also when it is reached only through another object's death.
//!
//! A drain inside a finalizer takes what became pending since that finalizer began, and nothing else. More than
//! [`DEPTH_MAX`] finalizers deep it leaves everything to the drains around it: finalizers that drop finalizable objects
//! would recurse otherwise.
//!
//! **Finalizers that make finalizable objects without end** do not keep the program from going on. What finalizers
//! bring to zero is a *round*. The outermost drain takes ten, one inside a finalizer takes one. When all of those together
//! have called [`NESTED_MAX`] finalizers, they take nothing more, nor does the outermost after its round; the rest waits for the
//! next safepoint. With ten rounds at each depth there were ten to the power of thirty-two calls.
//!
//! With a pause goal a drain stops when its slice (`drain_slice.rs`) is used up. The rest goes on at the next safepoints, after
//! what became pending since: a small object dies promptly while a large structure is still being taken apart. `[BOUND]`

use super::{Cascade, Prompt};
use crate::heap::{Heap, HeapEntry};
use crate::memory::block_state::state;
use crate::memory::range::{self, block_info, block_of};
use crate::object::{ObjectRef, prompt_flag};
use crate::services::finalizer::ROUNDS_MAX;
use crate::type_registry;

/// Finalizers inside finalizers that still drain.
pub(crate) const DEPTH_MAX: u32 = 32;
/// Finalizers that are called inside finalizers between two looks at the program.
pub(super) const NESTED_MAX: u32 = 1024;
/// Pending objects that an allocation leaves alone.
const LEFT_ALONE: usize = 4096;

impl Prompt {
    /// Pending objects.
    #[inline(always)]
    fn len(&self, top: u64) -> usize {
        (top - self.pending.as_ptr() as u64) as usize / 8
    }
}

impl Heap {
    /// Notes an object at zero, unless it is noted already.
    #[inline(always)]
    pub fn add_pending(&mut self, object: ObjectRef) {
        if object.has(prompt_flag::PENDING) {
            return;
        }
        object.add_flags(prompt_flag::PENDING);
        let context = self.context_mut();
        if context.pending_top == context.pending_end {
            self.grow_pending();
        }
        let context = self.context_mut();
        // SAFETY: `grow_pending` keeps `pending_top..pending_end` inside the vector's memory.
        unsafe { *(context.pending_top as *mut ObjectRef) = object };
        context.pending_top += 8;
        context.pending = 1;
    }

    #[cold]
    fn grow_pending(&mut self) {
        let context = self.context_mut();
        let (top, pending) = (context.pending_top, &mut self.prompt.pending);
        let len = if pending.capacity() == 0 { 0 } else { (top - pending.as_ptr() as u64) as usize / 8 };
        // SAFETY: [LIST] the first `len` entries were written by `add_pending`.
        unsafe { pending.set_len(len) };
        pending.reserve((len * 2).max(1024) - len);
        let (start, capacity) = (pending.as_ptr() as u64, pending.capacity() as u64);
        let context = self.context_mut();
        (context.pending_top, context.pending_end) = (start + len as u64 * 8, start + capacity * 8);
    }

    /// Pending objects, oldest first.
    pub fn pending_objects(&mut self) -> impl Iterator<Item = ObjectRef> {
        let len = self.pending_len();
        (0..len).filter(|&at| !self.prompt.has_drained(at)).map(|at| self.pending_at(at))
    }

    /// Objects on the list.
    #[inline(always)]
    pub(super) fn pending_len(&mut self) -> usize {
        let top = self.context_mut().pending_top;
        if top == 0 { 0 } else { self.prompt.len(top) }
    }

    /// The entry `at` is this object.
    #[inline(always)]
    pub(super) fn put_pending(&mut self, at: usize, object: ObjectRef) {
        debug_assert!(at < self.pending_len());
        // SAFETY: [LIST] before the end of the list.
        let place = unsafe { self.prompt.pending.as_mut_ptr().add(at) };
        // SAFETY: [LIST] before the end of the list.
        unsafe { *place = object };
    }

    #[inline(always)]
    pub(super) fn pending_at(&self, at: usize) -> ObjectRef {
        // SAFETY: [LIST] `at` is below the list's length.
        let place = unsafe { self.prompt.pending.as_ptr().add(at) };
        // SAFETY: [LIST] `at` is below the list's length.
        unsafe { *place }
    }

    /// Closes the gap `kept..at`, where entries were taken from the list.
    pub(super) fn close_gap(&mut self, kept: usize, at: usize) {
        let len = self.pending_len();
        let list = self.prompt.pending.as_mut_ptr();
        if at != len {
            // SAFETY: [LIST] both ranges lie in the list.
            unsafe { std::ptr::copy(list.wrapping_add(at), list.wrapping_add(kept), len - at) };
        }
        self.context_mut().pending_top = list as u64 + (kept + len - at) as u64 * 8;
    }

    /// Whether anything waits for a drain.
    #[inline(always)]
    pub(crate) fn drain_is_due(&mut self) -> bool {
        !self.prompt.cascades.is_empty() || self.pending_len() > LEFT_ALONE
    }

    /// Whether a drain has anything to free, or anybody to call who may leave it something.
    #[inline(always)]
    fn something_may_die(&mut self) -> bool {
        let services = &self.services;
        let calls = services.specials.post_clear.are_due() || services.finalizers.collect_wanted;
        calls || !self.prompt.cascades.is_empty() || self.pending_len() != 0
    }

    /// Protects what `words` may lead to, and what roots hold that others may write to by their address: such a store counts
    /// nothing until the frame's next safepoint. `[ROOT]` Returns how many objects were protected before.
    #[inline(always)]
    pub(super) fn protect_in_flight(&mut self, words: &[u64]) -> usize {
        let before = self.protect(words);
        if self.context_mut().address_taken != 0 {
            self.protect_address_taken();
        }
        before
    }

    #[cold]
    fn protect_address_taken(&mut self) {
        let before = self.prompt.protected.len();
        self.with_driver(|driver, heap| driver.protect_roots(heap));
        self.prompt.protected.end_run(before);
    }

    /// Objects that `words` may lead to are protected from now on. Returns how many were before.
    #[inline(always)]
    pub(crate) fn protect(&mut self, words: &[u64]) -> usize {
        let before = self.prompt.protected.len();
        if !words.is_empty() {
            self.protect_words(words);
        }
        before
    }

    /// The masks of all types that hold tagged words, one registered meanwhile included.
    pub(in crate::plan::prompt) fn refresh_pointer_masks(&mut self) {
        if type_registry::pointer_mask_count() != self.prompt.pointer_masks.len() {
            self.prompt.pointer_masks = type_registry::pointer_masks();
        }
    }

    #[inline(never)]
    fn protect_words(&mut self, words: &[u64]) {
        self.refresh_pointer_masks();
        for &word in words {
            for place in 0..=self.prompt.pointer_masks.len() {
                let mask = if place == 0 { u64::MAX } else { self.prompt.pointer_masks[place - 1] };
                self.protect_address(word & mask);
            }
        }
    }

    fn protect_address(&mut self, address: u64) {
        if let Some(object) = self.object_in_flight(address)
            && !self.prompt.protected.contains(object)
        {
            self.prompt.protected.push(object);
        }
    }

    /// The object of this heap that a word in flight lies in.
    pub(super) fn object_in_flight(&self, address: u64) -> Option<ObjectRef> {
        if !range::in_heap(address) || !range::is_reserved(address) {
            return None;
        }
        // SAFETY: [MAPPED] the entry of an address in the reserved range.
        match unsafe { (*block_info(block_of(address))).state.get() } {
            // SAFETY: [OWNED] a block of this heap.
            // SAFETY: [MAPPED] an address in the reserved range.
            state::CELLS if unsafe { self.owns_address(address) } => unsafe { super::CellSpace::object_at(address) },
            state::CELLS => None,
            _ => self.large.object_at(address),
        }
    }

    #[inline(always)]
    pub(super) fn is_protected(&self, object: ObjectRef) -> bool {
        self.prompt.protected.contains(object)
    }

    /// Drains the pending list; `words` protect what they lead to.
    pub fn drain(heap: HeapEntry, words: &[u64]) {
        Heap::drain_as::<true>(heap, words);
    }

    /// The same while no frame lends a root.
    pub(super) fn drain_without_address_taken(heap: HeapEntry, words: &[u64]) {
        Heap::drain_as::<false>(heap, words);
    }

    #[inline(always)]
    fn drain_as<const ADDRESS_TAKEN: bool>(mut heap: HeapEntry, words: &[u64]) {
        heap.apply_postponed();
        if heap.services.finalizers.depth() > 0 && !Heap::may_drain_inside(heap, words) {
            return;
        }
        let depth = heap.services.finalizers.depth();
        heap.count_handles();
        if heap.prompt.address_taken.is_due() {
            heap.settle_address_taken();
        }
        if depth == 0 {
            (heap.prompt.leaves_rest, heap.prompt.nested_left) = (false, NESTED_MAX);
        }
        let held = match ADDRESS_TAKEN && heap.something_may_die() {
            true => heap.protect_in_flight(words),
            false => heap.protect(words),
        };
        let rationed = heap.start_slice();
        Heap::drain_pending(heap);
        if depth == 0 && !rationed {
            Heap::continue_cascades(heap);
        }
        // Entries of maps go one after the other, however long the chain is; callbacks that always bring more leave
        // the rest to the next safepoint.
        let mut rounds = 0;
        while depth == 0 && rounds < ROUNDS_MAX && heap.services.specials.post_clear.are_due() {
            let called = heap.services.finalizers.called;
            let has_turn = Heap::run_post_clear(heap);
            Heap::drain_pending(heap);
            if !has_turn {
                break;
            }
            rounds += u32::from(heap.services.finalizers.called != called);
        }
        if depth == 0 && heap.large.leaving.blocks() != 0 {
            heap.give_back_in_turn();
        }
        heap.end_slice();
        // References in flight are protected from the collection that a finalizer asked for, too.
        if depth == 0 && heap.services.finalizers.takes_wanted_collection() {
            Heap::prompt_collect(heap);
        }
        heap.prompt.protected.truncate(held);
    }

    /// Inside a finalizer, as far as is known: whether anything may be drained here.
    #[cold]
    #[inline(never)]
    pub(super) fn may_drain_inside(mut heap: HeapEntry, words: &[u64]) -> bool {
        let left = heap.abandon_left_calls();
        if !left.is_empty() {
            let held = heap.protect_in_flight(words);
            Heap::go_on_after_jumps(heap, left);
            heap.prompt.protected.truncate(held);
        }
        let depth = heap.services.finalizers.depth();
        depth == 0 || depth <= DEPTH_MAX && heap.prompt.nested_left != 0
    }

    /// Drains to the end, with any pause goal.
    pub(crate) fn drain_all(heap: HeapEntry) {
        Heap::without_slices(heap, |mut heap| {
            for _ in 0..ROUNDS_MAX {
                Heap::drain(heap, &[]);
                let stays = heap.prompt.protected.len();
                if heap.prompt.cascades.is_empty() && heap.pending_len() <= stays {
                    break;
                }
                if heap.services.finalizers.depth() > 0 || heap.prompt.leaves_rest {
                    break;
                }
            }
        });
    }

    /// Inside a finalizer, with any pause goal: takes apart what waits for the slices of safepoints, too.
    pub(super) fn drain_inside_finalizer(heap: HeapEntry) {
        Heap::without_slices(heap, |mut heap| {
            let units = std::mem::replace(&mut heap.prompt.units_left, i64::MAX);
            Heap::drain(heap, &[]);
            Heap::continue_cascades(heap);
            heap.prompt.units_left = units;
        });
    }

    /// Runs `drain` as if there were no pause goal.
    fn without_slices(mut heap: HeapEntry, drain: impl FnOnce(HeapEntry)) {
        let is_outermost = heap.keep_settings();
        let goal = std::mem::replace(&mut heap.prompt.sliced_drains, false);
        drain(heap);
        heap.prompt.sliced_drains = goal;
        heap.forget_settings(is_outermost);
    }

    fn drain_pending(mut heap: HeapEntry) {
        let from = heap.prompt.drain_from;
        let (mut at, mut kept) = (from, from);
        if std::mem::take(&mut heap.prompt.has_begun) && !Heap::goes_on_with_begun(heap) {
            return;
        }
        let mut cascade = Cascade::default();
        let rounds_max = if heap.services.finalizers.depth() == 0 { ROUNDS_MAX } else { 1 };
        let (mut generation_end, mut generation) = (heap.pending_len(), 0);
        let mut called = heap.services.finalizers.called;
        while at < heap.pending_len() {
            if at >= generation_end {
                // More has come to zero. Finalizers that always bring more leave the rest to the next safepoint;
                // ephemerons whose keys died come to an end.
                let more = std::mem::replace(&mut called, heap.services.finalizers.called) != called;
                generation += u32::from(more);
                let endless = more && heap.prompt.nested_left == 0;
                if generation == rounds_max || endless {
                    heap.prompt.leaves_rest = true;
                    break;
                }
                generation_end = heap.pending_len();
            }
            let object = heap.pending_at(at);
            if object.exact_count() != 0 {
                // Counted again: it lives, or what counts it hangs on it in turn.
                object.remove_flags(prompt_flag::PENDING);
                heap.note_survivor(object);
            } else if heap.is_protected(object) {
                heap.put_pending(kept, object);
                kept += 1;
            } else {
                object.remove_flags(prompt_flag::PENDING);
                at += 1;
                if heap.dies_alone(object) {
                    continue;
                }
                cascade.add(object);
                if !Heap::run_cascade(heap, &mut cascade, kept..at) {
                    break;
                }
                continue;
            }
            at += 1;
        }
        if kept != at {
            heap.close_gap(kept, at);
        }
    }

    /// Goes on with the structure that a quick drain has begun with; false when the slice ended first.
    #[cold]
    fn goes_on_with_begun(mut heap: HeapEntry) -> bool {
        let from = heap.prompt.drain_from;
        let mut cascade = heap.prompt.cascades.pop().expect("a quick drain has left one");
        Heap::run_cascade(heap, &mut cascade, from..from)
    }

    fn continue_cascades(mut heap: HeapEntry) {
        while !heap.prompt.cascades.is_empty() && (heap.prompt.units_left > 0 || heap.has_more_time()) {
            let mut cascade = heap.prompt.cascades.remove(0);
            if !Heap::run_cascade(heap, &mut cascade, 0..0) {
                // It went to the end; nothing else may overtake it.
                let cascade = heap.prompt.cascades.pop().expect("just suspended");
                heap.prompt.cascades.insert(0, cascade);
                return;
            }
        }
    }
}
