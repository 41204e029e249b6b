//! Verbs: to make, write and release references, outside objects and in them.

use crate::heap::Heap;
use crate::object::{ObjectRef, Slot};
use crate::plan::Plan;
use crate::type_registry::TypeInfo;

impl Heap {
    /// Holds the object for the runtime itself: while the program is called with it, or while a test looks at it.
    #[inline(always)]
    pub fn hold(&mut self, object: ObjectRef) {
        match self.regime() {
            Plan::Deferred => self.increment(object),
            Plan::Prompt => object.increment_exact(),
            Plan::Trace => {
                self.show_in_snapshot(object);
                self.trace.held.push(object);
            }
        }
    }

    /// Releases an object that [`hold`](Self::hold) held. Deferred plan: at the next
    /// flip.
    #[inline(always)]
    pub(crate) fn let_go(&mut self, object: ObjectRef) {
        match self.regime() {
            Plan::Deferred => self.services.finalizers.done.push(object),
            Plan::Prompt => self.decrement_exact(object),
            Plan::Trace => self.end_hold(object),
        }
    }

    /// Counts the change of a Rust host's root from `old` to `new`. The released object becomes no candidate.
    /// `[EXACT]`
    #[inline(always)]
    pub fn recount_root(&mut self, new: Option<ObjectRef>, old: Option<ObjectRef>) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => {
                new.into_iter().for_each(ObjectRef::increment_exact);
                old.into_iter().for_each(|old| self.decrement_root(old));
            }
        }
    }

    /// Counts the change of a root outside frames, such as a global handle, from `old` to `new`. The released object
    /// may become a candidate.
    #[inline(always)]
    pub(crate) fn recount_handle(&mut self, new: Option<ObjectRef>, old: Option<ObjectRef>) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.recount_exactly(new, old),
        }
    }

    /// Whether frames of compiled code count what their roots hold.
    pub fn frames_count(&self) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => true,
        }
    }

    /// Releases the count that a frame had, which never runs again.
    pub fn release_of_frame(&mut self, object: ObjectRef) {
        self.recount_handle(None, Some(object));
    }

    /// Pops roots of a host in Rust until `count` are left, the last first.
    pub fn truncate_host_roots(&mut self, count: usize) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.services.host_roots.stack.truncate(count),
            Plan::Prompt => {
                while self.services.host_roots.stack.len() > count {
                    let old = self.services.host_roots.stack.pop().expect("longer than `count`");
                    self.recount_root(None, old);
                }
            }
        }
    }

    /// Notes that the next pushed handle has a count already.
    #[inline(always)]
    pub(crate) fn note_owning_handle(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.note_counted_handle(),
        }
    }

    /// Counts the handles pushed since the last safepoint, if the plan counts handles.
    #[inline(always)]
    pub(crate) fn count_new_handles(&mut self) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.count_handles(),
        }
    }

    /// Writes `word` into `slot` of `object`.
    #[inline(always)]
    pub fn write(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        if Heap::must_log(slot) || self.counts_writes() {
            return self.write_slow(object, slot, word);
        }
        slot.store(word);
    }

    /// Writes two words that lie side by side in `object`: a pair of a tag and a word, in the order of memory. No pass sees one of
    /// them without the other.
    #[inline(always)]
    pub fn write_pair(&mut self, object: ObjectRef, slot: Slot, pair: [u64; 2]) {
        if Heap::must_log(slot) || self.counts_writes() {
            return self.write_pair_slowly(object, slot, pair);
        }
        slot.store_pair(pair);
    }

    #[inline(never)]
    fn write_pair_slowly(&mut self, object: ObjectRef, slot: Slot, pair: [u64; 2]) {
        match self.regime() {
            Plan::Deferred => {
                self.log_slow(object, slot);
                slot.store_pair(pair);
            }
            Plan::Prompt => self.write_pair_counted(object, slot, pair),
            Plan::Trace => {
                self.show_overwritten(object, slot);
                self.show_words(object, slot, 2);
                slot.store_pair(pair);
            }
        }
    }

    /// Whether the first write of an epoch to an object logs it.
    pub(crate) fn logs_writes(&self) -> bool {
        match self.regime() {
            Plan::Deferred => true,
            Plan::Prompt | Plan::Trace => false,
        }
    }

    /// Whether every write is counted, and none is a plain store.
    #[inline(always)]
    fn counts_writes(&self) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => true,
        }
    }

    /// Writes by the slow path: the first write of an epoch, or under the prompt plan every write.
    #[inline(never)]
    fn write_slow(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        match self.regime() {
            Plan::Deferred => self.write_logged(object, slot, word),
            Plan::Prompt => self.write_counted(object, slot, word),
            Plan::Trace => {
                self.show_overwritten(object, slot);
                slot.store(word);
            }
        }
    }

    /// Copies `count` words from `source` to `target`, which lie in `object`; the ranges may overlap.
    ///
    /// # Safety
    /// `target` names `count` words of `object`, `source` as many readable words that such fields may hold.
    pub unsafe fn copy_references(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        match self.regime() {
            // SAFETY: by the caller's promise.
            Plan::Deferred => unsafe { self.copy_logged(object, target, source, count) },
            // SAFETY: by the caller's promise.
            Plan::Prompt => unsafe { self.copy_counted(object, target, source, count) },
            // SAFETY: by the caller's promise.
            Plan::Trace => unsafe { self.copy_shown(object, target, source, count) },
        }
    }

    /// Writes `word` to `count` words from `target`, which lie in `object`.
    ///
    /// # Safety
    /// `target` names `count` words of `object`, which may hold `word`.
    pub unsafe fn fill_references(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        match self.regime() {
            Plan::Deferred => self.fill_logged(object, target, word, count),
            Plan::Prompt => self.fill_counted(object, target, word, count),
            Plan::Trace => self.fill_shown(object, target, word, count),
        }
    }

    /// Releases what elements at the payload's `bytes` hold, which are about to go.
    pub(crate) fn release_elements(&mut self, info: &TypeInfo, object: ObjectRef, bytes: std::ops::Range<u64>) {
        match self.regime() {
            Plan::Deferred => {}
            Plan::Prompt => self.release_elements_counted(info, object, bytes),
            Plan::Trace => self.show_bytes(object, bytes),
        }
    }

    /// The references that were copied from `old` to a new object get the counts that they need; so many bytes of the
    /// payload of `old` were `kept`, or its elements have other places.
    pub(crate) fn hand_over(&mut self, info: &TypeInfo, old: ObjectRef, new: ObjectRef, kept: Option<u64>) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => {}
            Plan::Prompt => self.hand_over_counted(info, old, new, kept),
        }
    }

    /// Writes the word of a new object that its maker owns into a slot of `owner` that refers to `old`.
    pub(crate) fn put_in_place_of(&mut self, owner: ObjectRef, slot: Slot, word: u64, old: ObjectRef) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.write(owner, slot, word),
            Plan::Prompt => self.put_in_place_counted(slot, word, old),
        }
    }

    /// Whether the references of an object that is about to be released may change their holder by plain stores, with their counts, if
    /// they are nulled where they were.
    pub(crate) fn moves_with_counts(&mut self, old: ObjectRef) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Trace => false,
            Plan::Prompt => self.may_hand_over(old),
        }
    }

    /// Writes a new object that its maker owns into a plain slot that holds `old`: its first reference.
    #[inline(always)]
    pub(crate) fn write_owned(&mut self, object: ObjectRef, slot: Slot, new: ObjectRef, old: Option<ObjectRef>) {
        match self.plan() {
            Plan::Deferred | Plan::Trace => self.write(object, slot, new.address()),
            Plan::Prompt => {
                slot.store(new.address());
                old.into_iter().for_each(|old| self.decrement_exact(old));
            }
        }
    }

    /// Writes a word into a plain slot of an object that was made since the last safepoint; what stood there is nothing.
    #[inline(always)]
    pub(crate) fn write_first(&mut self, slot: Slot, word: u64) {
        match self.regime() {
            Plan::Deferred => debug_assert!(!Heap::must_log(slot)),
            // A collection in slices sets the bits of holes, too. What stood in them is nothing to show.
            Plan::Trace => {}
            Plan::Prompt => {
                // SAFETY: [HEADER] a plain reference.
                unsafe { ObjectRef::of_word(word) }.into_iter().for_each(ObjectRef::increment_exact);
            }
        }
        slot.store(word);
    }

    /// Releases a new object that its maker owns.
    pub(crate) fn give_up_owned(&mut self, object: ObjectRef) {
        self.recount_handle(None, Some(object));
    }

    /// Whether plain stores of references are right in all objects: nothing is counted, and no barrier is promised.
    pub(crate) fn needs_no_barrier(&self) -> bool {
        match self.plan() {
            Plan::Deferred | Plan::Prompt => false,
            Plan::Trace => !self.shows_overwritten(),
        }
    }

    /// Whether native code may write references into the object without the barrier, as it is now.
    pub(crate) fn is_written_plainly(&self, object: ObjectRef) -> bool {
        match self.regime() {
            Plan::Deferred => !object.is_mature(),
            Plan::Prompt => false,
            Plan::Trace => !self.shows_overwritten() || self.is_new(object),
        }
    }

    /// The barrier of compiled code: the unlogged bit of `slot`, which lies in `object`, is set, and the slot is about to be overwritten.
    pub fn note_overwritten(&mut self, object: ObjectRef, slot: Slot) {
        match self.regime() {
            Plan::Deferred => self.log_slow(object, slot),
            Plan::Prompt => {}
            Plan::Trace => self.show_overwritten(object, slot),
        }
    }
}
