//! Counts change: at a write, at a copy, when a count falls. `[EXACT]`

use super::{CANDIDATES_MAX, CARRY, LOW, SETTLED, bytes_of};
use crate::heap::Heap;
use crate::mark_phase::MarkPhase;
use crate::memory::heap_walk::HeapWalk;
use crate::memory::range::{self, BUFFERED};
use crate::object::{ObjectRef, Slot, prompt_flag};
use crate::plan::prompt::CellSpace;
use crate::type_registry::{Reading, Tagging, Tracer, TypeInfo};
use crate::visit::Part;

impl Heap {
    /// Takes one from the object's count.
    #[inline(always)]
    pub fn decrement_exact(&mut self, object: ObjectRef) {
        let byte = object.count().wrapping_sub(1);
        object.set_count(byte);
        if byte <= SETTLED {
            self.note_low(object);
        }
    }

    /// Takes one from the count on behalf of a root: to non-zero, nothing is noted.
    #[inline(always)]
    pub fn decrement_root(&mut self, object: ObjectRef) {
        let byte = object.count().wrapping_sub(1);
        object.set_count(byte);
        if byte & LOW == 0 {
            self.note_low(object);
        }
    }

    /// The same on behalf of a dead object. Returns true for a possible member of a cycle, which is not noted.
    #[inline(always)]
    pub fn decrement_unnoted(&mut self, object: ObjectRef) -> bool {
        let byte = object.count().wrapping_sub(1);
        object.set_count(byte);
        if byte & LOW == 0 {
            self.note_low(object);
        }
        byte < SETTLED && byte != 0
    }

    /// The same where compiled code has taken one: mostly that was the last.
    #[inline(always)]
    pub fn note_low_in_code(&mut self, object: ObjectRef) {
        let is_zero = object.low_count() == 0 && object.stamp() == 0;
        if is_zero && !self.has_postponed() && !self.mark_phase().watches() {
            return self.add_pending(object);
        }
        self.note_low(object);
    }

    /// A decrement has left the byte at zero, or the object is not settled. An object that a root released may be noted here too, when
    /// 64 come back: that is never wrong.
    #[inline(never)]
    pub(crate) fn note_low(&mut self, object: ObjectRef) {
        if object.low_count() == 0 {
            let high = object.stamp();
            if high == 0 {
                // What was put off came before this.
                self.apply_postponed();
                if self.mark_phase().watches() {
                    self.note_touched(object);
                }
                return self.add_pending(object);
            }
            object.set_count(object.count() | CARRY as u8);
            if object.is_stuck() {
                // Only a mark can tell whether this was the last reference.
                self.suspects += 1;
                return;
            }
            object.set_stamp(high - CARRY);
        }
        if !object.is_settled() {
            self.note_candidate(object);
        }
    }

    /// The count fell to non-zero: the object may hold up a garbage cycle. `[CANDIDATE]`
    #[inline(always)]
    pub fn note_candidate(&mut self, object: ObjectRef) {
        if !self.flag_candidate(object) {
            return;
        }
        if self.candidates.len() >= CANDIDATES_MAX || !self.candidates.try_push(object) {
            // Given up: it has no bit.
            BUFFERED.clear(object.granule());
            self.suspects += 1;
        }
    }

    /// Marks the object as buffered; false if it is already, or never part of a cycle.
    #[inline(always)]
    pub fn flag_candidate(&mut self, object: ObjectRef) -> bool {
        if self.mark_phase().watches() {
            self.note_touched(object);
        }
        object.settle();
        let meta = object.meta();
        if meta & (prompt_flag::ACYCLIC | prompt_flag::CANDIDATE) != 0 {
            return false;
        }
        object.set_meta(meta | prompt_flag::CANDIDATE);
        BUFFERED.set(object.granule());
        true
    }

    /// The counted form of [`write`](Self::write).
    #[inline(never)]
    pub(crate) fn write_counted(&mut self, object: ObjectRef, slot: Slot, word: u64) {
        let info = object.type_info();
        if let Reading::Traced(tracer) = info.reading {
            let offset = slot.address() - object.address();
            if matches!(tracer, Tracer::Mixed(_)) && info.is_plain_beside_tags(offset) {
                return self.write_plain_counted(slot, word);
            }
            return self.write_traced(object, offset..offset + 8, || slot.store(word));
        }
        // SAFETY: [HEADER] a word of a field of that type.
        if let Some(new) = unsafe { info.decode(word) } {
            new.increment_exact();
        }
        // SAFETY: [HEADER] a word of a field of that type.
        let old = unsafe { info.decode(slot.read()) };
        slot.store(word);
        if let Some(old) = old {
            self.decrement_exact(old);
        }
    }

    /// The same of a plain reference, whatever the other fields of the object are.
    fn write_plain_counted(&mut self, slot: Slot, word: u64) {
        // SAFETY: [HEADER] a plain reference.
        let [new, old] = [word, slot.read()].map(|word| unsafe { ObjectRef::of_word(word) });
        new.into_iter().for_each(ObjectRef::increment_exact);
        slot.store(word);
        old.into_iter().for_each(|old| self.decrement_exact(old));
    }

    /// The counted form of [`write_pair`](Self::write_pair).
    pub(crate) fn write_pair_counted(&mut self, object: ObjectRef, slot: Slot, pair: [u64; 2]) {
        let info = object.type_info();
        let offset = slot.address() - object.address();
        let pairs = match info.reading {
            Reading::Traced(Tracer::Pairs(pairs)) => pairs,
            Reading::Traced(Tracer::Mixed(Tagging::Pairs(pairs))) if info.is_tag(pairs.tag_in(offset)) => pairs,
            Reading::Traced(_) => return self.write_traced(object, offset..offset + 16, || slot.store_pair(pair)),
            Reading::Plain | Reading::Masked { .. } => {
                self.write_counted(object, slot, pair[0]);
                return self.write_counted(object, object.slot(offset + 8), pair[1]);
            }
        };
        // SAFETY: [HEADER] what the pair of this object is about to hold.
        let new = unsafe { pairs.target_in(&raw const pair as u64) };
        // SAFETY: [HEADER] a pair of this object.
        let old = unsafe { pairs.target_in(slot.address()) };
        new.into_iter().for_each(ObjectRef::increment_exact);
        slot.store_pair(pair);
        old.into_iter().for_each(|old| self.decrement_exact(old));
    }

    /// The counted form of [`copy_references`](Self::copy_references).
    ///
    /// # Safety
    /// As for that.
    pub(in crate::plan) unsafe fn copy_counted(&mut self, object: ObjectRef, target: Slot, source: u64, count: u64) {
        let info = object.type_info();
        // SAFETY: by the caller's promise.
        let copy = || unsafe { std::ptr::copy(source as *const u64, target.address() as *mut u64, count as usize) };
        let bytes = bytes_of(object, target, count);
        if let Reading::Traced(_) = info.reading {
            return self.write_traced(object, bytes, copy);
        }
        let (gained, lost) = self.ends_of_move(info, object, bytes, source);
        info.for_each_slot_among(object, gained, |slot| {
            // SAFETY: by the caller's promise: one of the words, which this slot is about to hold.
            let word = unsafe { Slot::from_address(source.wrapping_add(slot.address() - target.address())) }.read();
            // SAFETY: [HEADER] a word of a field of that type.
            if let Some(new) = unsafe { info.decode(word) } {
                new.increment_exact();
            }
        });
        self.release_slots(info, object, lost);
        copy();
    }

    /// Bytes of the target of a copy whose new words are counted, and those whose old words are released. Within an array an element
    /// that lies in both ranges only moves: it has as many references afterwards, so a copy by `n` places counts `n` elements. While a
    /// mark runs in slices all are counted, since it is told of references by their counts.
    fn ends_of_move(
        &self,
        info: &TypeInfo,
        object: ObjectRef,
        bytes: std::ops::Range<u64>,
        source: u64,
    ) -> (std::ops::Range<u64>, std::ops::Range<u64>) {
        let from = source.wrapping_sub(object.address());
        let length = bytes.end - bytes.start;
        let moved = from.abs_diff(bytes.start);
        let are_elements = || [from, bytes.start].into_iter().all(|at| info.is_among_elements(object, at, length));
        if moved >= length || self.mark_phase() != MarkPhase::Off || !are_elements() {
            return (bytes.clone(), bytes);
        }
        let (first, last) = (bytes.start..bytes.start + moved, bytes.end - moved..bytes.end);
        if from > bytes.start { (last, first) } else { (first, last) }
    }

    /// The counted form of [`fill_references`](Self::fill_references).
    pub(crate) fn fill_counted(&mut self, object: ObjectRef, target: Slot, word: u64, count: u64) {
        let info = object.type_info();
        let slots = (0..count).map(|index| object.slot(target.address() - object.address() + index * 8));
        let bytes = bytes_of(object, target, count);
        if let Reading::Traced(_) = info.reading {
            return self.write_traced(object, bytes, || slots.for_each(|slot| slot.store(word)));
        }
        // SAFETY: [HEADER] a word of a field of that type.
        if let Some(new) = unsafe { info.decode(word) } {
            let mut wanted = 0u32;
            info.for_each_slot_among(object, bytes.clone(), |_| wanted = wanted.saturating_add(1));
            new.set_exact_count(new.exact_count().saturating_add(wanted));
        }
        self.release_slots(info, object, bytes);
        slots.for_each(|slot| slot.store(word));
    }

    /// Decrements what the reference slots among `bytes` hold, which are about to be overwritten: at zero an object is
    /// only noted, not freed.
    pub(in crate::plan::prompt) fn release_slots(
        &mut self,
        info: &TypeInfo,
        object: ObjectRef,
        bytes: std::ops::Range<u64>,
    ) {
        info.for_each_slot_among(object, bytes, |slot| {
            // SAFETY: [HEADER] a word of a field of that type.
            if let Some(old) = unsafe { info.decode(slot.read()) } {
                self.decrement_exact(old);
            }
        });
    }

    /// Only `trace` knows which words are references: what it reports of the parts that are written, before and after.
    pub(in crate::plan::prompt::count) fn write_traced(
        &mut self,
        object: ObjectRef,
        bytes: std::ops::Range<u64>,
        store: impl FnOnce(),
    ) {
        let info = object.type_info();
        let mut old = std::mem::take(&mut self.prompt.scratch);
        info.for_each_reference_near(object, bytes.clone(), &mut |target| old.push(target));
        store();
        info.for_each_reference_near(object, bytes, &mut ObjectRef::increment_exact);
        old.drain(..).for_each(|target| self.decrement_exact(target));
        self.prompt.scratch = old;
    }

    /// A root of complex shape was stored to: what `slot` holds now is counted, what `shadow` holds, its value when it was
    /// settled last, is released, and `shadow` becomes a copy. A null slot only releases. `how` describes both; null = every
    /// word may be a reference.
    ///
    /// # Safety
    /// Both are `bytes` bytes, aligned words, and what they hold by `how` obeys `[HEADER]`.
    pub unsafe fn settle_root(&mut self, slot: u64, shadow: u64, how: Option<&TypeInfo>, bytes: u64) {
        let each = |address: u64, found: &mut dyn FnMut(ObjectRef)| match how {
            // SAFETY: [ROOT] a root that this type describes.
            Some(info) => unsafe { info.for_each_reference_in_root(address, found) },
            None => {
                for word in (address..address + bytes).step_by(8) {
                    // SAFETY: by the caller's promise.
                    let word = unsafe { Slot::from_address(word) }.read();
                    if range::in_heap(word) {
                        // SAFETY: by the caller's promise.
                        found(unsafe { ObjectRef::from_address(word) });
                    }
                }
            }
        };
        // Most calls that are lent a root store nothing to it. Only words of references are looked at: others may be undefined.
        // SAFETY: [ROOT] a root that this type describes, and what it held.
        if slot != 0 && how.is_some_and(|info| unsafe { info.is_same_in_roots([slot, shadow]) }) {
            return;
        }
        if slot != 0 {
            each(slot, &mut |new| new.increment_exact());
        }
        each(shadow, &mut |old| self.decrement_root(old));
        match slot {
            // SAFETY: by the caller's promise.
            0 => unsafe { std::ptr::write_bytes(shadow as *mut u8, 0, bytes as usize) },
            // SAFETY: by the caller's promise.
            _ => unsafe { std::ptr::copy(slot as *const u8, shadow as *mut u8, bytes as usize) },
        }
    }

    /// A reference outside objects changes from `old` to `new`.
    #[inline(always)]
    pub(crate) fn recount_exactly(&mut self, new: Option<ObjectRef>, old: Option<ObjectRef>) {
        new.into_iter().for_each(ObjectRef::increment_exact);
        if let Some(old) = old {
            self.decrement_exact(old);
        }
    }

    /// Every object of a prompt heap that is alive or pending: not dying, not zeal's dead, not condemned by a mark.
    pub fn for_each_counted(&mut self, mut visit: impl FnMut(&mut Heap, ObjectRef)) {
        if let Some(zeal) = &self.zeal {
            for object in zeal.living() {
                if !object.has(prompt_flag::DEAD | prompt_flag::DYING) {
                    visit(self, object);
                }
            }
            return;
        }
        let mut walk = HeapWalk::default();
        while let Some(place) = walk.next(&self.prompt.cells.owned, &self.large) {
            // SAFETY: a place of this heap.
            let objects = unsafe { CellSpace::objects_at(place) };
            objects.filter(|object| !object.has(prompt_flag::DEAD | prompt_flag::DYING)).for_each(|object| {
                if !self.is_going(object) {
                    visit(self, object);
                }
            });
        }
    }

    /// Calls `visit` with everything that `object` refers to; by chunk, so that traced arrays need no image of the whole.
    #[inline(always)]
    pub fn for_each_counted_reference(object: ObjectRef, visit: impl FnMut(ObjectRef)) {
        object.type_info().for_each_reference(object, Part::Whole, visit);
    }
}
