//! How a structure is taken apart, one step after the other. `[RECLAIM]` `[BOUND]`

use super::super::count::{FRESH, SETTLED};
use super::super::{Bin, CellSpace};
use super::{AT_ONCE, Cascade, DyingLarge, Frame, Step, in_order, reference_at};
use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;
use crate::memory::range::BUFFERED;
use crate::object::prompt_flag;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::plan::prompt::release_stack::{BEYOND, Shape, Stop};
use crate::visit::Part;
use smallvec::SmallVec;
use std::ops::Range;

/// Releases what a plain object holds, if each of these outlives that and nothing is to be noted of it; otherwise nothing has changed.
#[inline(never)]
fn lets_go_of_survivors(object: ObjectRef, fields: &[u32]) -> bool {
    for (place, &offset) in fields.iter().enumerate() {
        let Some(target) = reference_at(object, offset) else { continue };
        let byte = target.count();
        if byte <= FRESH {
            let released = fields[..place].iter().filter_map(|&offset| reference_at(object, offset));
            released.for_each(|target| target.set_count(target.count() + 1));
            return false;
        }
        target.set_count(byte - 1);
    }
    true
}

/// The same of a small object that is read by words; how many words that were.
#[inline(never)]
fn words_let_go_of_survivors(object: ObjectRef) -> Option<i64> {
    // SAFETY: [HEADER] reference words of an object; they have not been released yet.
    let reference = |word| unsafe { ObjectRef::of_word(word) };
    let mut looked_at = 0;
    for word in object.addresses_in_words(AT_ONCE)? {
        if let Some(target) = reference(word) {
            let byte = target.count();
            if byte <= FRESH {
                let released = object.addresses_in_words(AT_ONCE)?.take(looked_at).filter_map(reference);
                released.for_each(|target| target.set_count(target.count() + 1));
                return None;
            }
            target.set_count(byte - 1);
        }
        looked_at += 1;
    }
    Some(looked_at as i64)
}

impl Heap {
    /// Takes a structure apart; false when the slice ended first, and then it is the last on the list of cascades.
    pub(in crate::plan::prompt) fn run_cascade(mut heap: HeapEntry, cascade: &mut Cascade, gap: Range<usize>) -> bool {
        loop {
            match heap.take_apart(cascade) {
                Step::Done => return true,
                Step::SliceEnds => {
                    heap.touch_next_of(cascade);
                    heap.prompt.cascades.push(std::mem::take(cascade));
                    return false;
                }
                Step::Finalize(object) => {
                    heap.begin_finalizer_in_slice();
                    heap.park(cascade, &gap);
                    let is_dead = Heap::run_finalizer(heap, object);
                    heap.take_out(cascade);
                    heap.end_finalizer_in_slice();
                    if is_dead {
                        cascade.add(object);
                    }
                }
            }
        }
    }

    /// An object at zero that takes no other along and is none of the special kinds: it is free. That is what most temporaries are, and
    /// most small objects of structures that go on without them.
    #[inline(always)]
    pub(in crate::plan::prompt) fn dies_alone(&mut self, object: ObjectRef) -> bool {
        if object.has(BEYOND & !prompt_flag::NON_TRIVIAL) || self.zeal.is_some() || self.prompt.units_left <= 0 {
            return false;
        }
        if object.has(prompt_flag::NON_TRIVIAL) {
            let Some(units) = words_let_go_of_survivors(object) else { return false };
            self.prompt.units_left -= 1 + units;
            self.free_counted(object);
            return true;
        }
        let fields = object.type_info().fixed.as_slice();
        let first = fields.iter().find_map(|&offset| reference_at(object, offset));
        if first.is_some_and(|first| first.count() <= FRESH || !lets_go_of_survivors(object, fields)) {
            return false;
        }
        self.prompt.units_left -= 1;
        self.free_counted(object);
        true
    }

    /// Goes on until nothing is left, the slice ends, or a finalizer has to run.
    pub(in crate::plan::prompt) fn take_apart(&mut self, cascade: &mut Cascade) -> Step {
        // Neither changes while no finalizer runs.
        let mut shape = Shape::none(self.zeal.is_some() || !self.prompt.protected.is_empty());
        let mut bin = Bin::default();
        let step = loop {
            let next = cascade.next.take().or_else(|| cascade.release_stack.pop(cascade.height));
            let Some(target) = next else {
                if cascade.waiting == 0 {
                    break Step::Done;
                }
                if self.prompt.units_left <= 0 && !self.has_more_time() {
                    break Step::SliceEnds;
                }
                self.resume(cascade, &mut bin);
                continue;
            };
            let (units, cells) = (&mut self.prompt.units_left, &mut self.prompt.cells);
            match cascade.release_stack.let_go(target, cascade.height, units, &mut shape, (&mut bin, cells)) {
                Stop::Empty => {}
                Stop::UnitsEnd(target) => {
                    cascade.next = Some(target);
                    if !self.has_more_time() {
                        break Step::SliceEnds;
                    }
                }
                Stop::Beyond(target) => {
                    if self.prompt.units_left <= 0 && !self.has_more_time() {
                        cascade.next = Some(target);
                        break Step::SliceEnds;
                    }
                    if !self.release(target) {
                        continue;
                    }
                    self.prompt.units_left -= 1;
                    if target.has(prompt_flag::SPECIAL) && !self.has_let_go_weakly(target) {
                        cascade.add(target);
                        break Step::SliceEnds;
                    }
                    if target.needs_finalizer() {
                        break Step::Finalize(target);
                    }
                    self.begin(cascade, &mut bin, target);
                }
            }
        };
        bin.empty();
        step
    }

    /// An object is at zero: weak references to it are cleared, and if it has no finalizer, its weak slots are forgotten and
    /// it is no key any more. Returns false when the slice ended first: the object fades until it is its turn again, and no
    /// upgrade yields it, while the cascade holds it by a count. `[WEAK]` `[BOUND]`
    #[cold]
    pub(in crate::plan::prompt::reclaim) fn has_let_go_weakly(&mut self, object: ObjectRef) -> bool {
        loop {
            let mut units = self.prompt.units_left;
            let done = self.begin_reclaim_some(object, &mut units)
                && (object.needs_finalizer() || self.let_go_weakly(object, &mut units));
            self.prompt.units_left = units;
            if done || !self.has_more_time() {
                self.set_fading(object, !done);
                return done;
            }
        }
    }

    /// Takes one from the object's count; true when it is to be reclaimed now.
    pub(in crate::plan::prompt::reclaim) fn release(&mut self, target: ObjectRef) -> bool {
        let byte = target.count().wrapping_sub(1);
        target.set_count(byte);
        if byte > SETTLED {
            return false;
        }
        if target.exact_count() == 0 && !target.has(prompt_flag::PENDING) && !self.is_protected(target) {
            return true;
        }
        self.note_low(target);
        false
    }

    /// Begins with an object of any shape that is dead.
    pub(in crate::plan::prompt::reclaim) fn begin(&mut self, cascade: &mut Cascade, bin: &mut Bin, object: ObjectRef) {
        if self.mark_phase().watches() {
            self.touch_held(object);
        }
        let (before, height) = (cascade.waiting, cascade.release_stack.len());
        if object.has(prompt_flag::LARGE) {
            object.add_flags(prompt_flag::DYING);
            cascade.large.push(DyingLarge { object, before, height, chunk: 0, references: List::new() });
            (cascade.waiting, cascade.height) = (object.address(), height);
            return;
        }
        let frame = Frame { fields: self.lay_out(object), at: 0, height };
        self.go_on(cascade, bin, object, frame, before);
    }

    /// Goes on with the object that went to wait last.
    pub(in crate::plan::prompt::reclaim) fn resume(&mut self, cascade: &mut Cascade, bin: &mut Bin) {
        // SAFETY: the chain of waiting objects, whose memory no other code touches.
        let object = unsafe { ObjectRef::from_address(cascade.waiting) };
        if object.has(prompt_flag::LARGE) {
            return self.go_on_large(cascade);
        }
        let frame = Frame::of(object);
        let before = object.slot(frame.fields[frame.at - 1] as u64).read();
        self.go_on(cascade, bin, object, frame, before);
    }

    /// Takes the next references of an object. It is freed with its last; until then it waits.
    pub(in crate::plan::prompt::reclaim) fn go_on(
        &mut self,
        cascade: &mut Cascade,
        bin: &mut Bin,
        object: ObjectRef,
        mut frame: Frame,
        before: u64,
    ) {
        let mut taken = SmallVec::<[ObjectRef; AT_ONCE]>::new();
        let room = cascade.room();
        while let Some(&offset) = frame.fields.get(frame.at) {
            if let Some(target) = reference_at(object, offset) {
                if taken.len() == room {
                    break;
                }
                taken.push(target);
            }
            frame.at += 1;
        }
        self.prompt.units_left -= taken.len() as i64;
        if frame.at < frame.fields.len() {
            object.slot(frame.fields[frame.at - 1] as u64).store(before);
            frame.write(object);
            (cascade.waiting, cascade.height) = (object.address(), frame.height);
        } else {
            (cascade.waiting, cascade.height) = (before, cascade.height_of(before));
            self.free_into(bin, object, object.meta(), self.zeal.is_some());
        }
        taken.reverse();
        cascade.put(&taken);
    }

    pub(in crate::plan::prompt::reclaim) fn go_on_large(&mut self, cascade: &mut Cascade) {
        let room = cascade.room();
        let dying = cascade.large.last_mut().expect("a large object that waits is on the list");
        debug_assert_eq!(dying.object.address(), cascade.waiting);
        let info = dying.object.type_info();
        if !dying.references.is_empty() {
            let left = dying.references.len().saturating_sub(room);
            let taken: SmallVec<[ObjectRef; AT_ONCE]> = dying.references.drain(left..).collect();
            cascade.put(&taken);
        } else if info.has_references && dying.chunk < info.chunk_count(info.length(dying.object)) {
            info.for_each_reference(dying.object, Part::Chunk(dying.chunk), |target| dying.references.push(target));
            dying.references.reverse();
            self.prompt.units_left -= 1 + dying.references.len() as i64;
            dying.chunk += 1;
        } else {
            let DyingLarge { object, before, .. } = cascade.large.pop().expect("just looked at");
            (cascade.waiting, cascade.height) = (before, cascade.height_of(before));
            self.free_counted(object);
            self.prompt.units_left -= self.large.leaving.take_units();
        }
    }

    /// Writes the references of an object of any shape to the front of its payload.
    pub(in crate::plan::prompt::reclaim) fn lay_out(&mut self, object: ObjectRef) -> &'static [u32] {
        let info = object.type_info();
        if info.fixed_only {
            return info.fixed.as_slice();
        }
        let mut references = std::mem::take(&mut self.prompt.scratch);
        info.for_each_reference(object, Part::Whole, |target| references.push(target));
        let room = (CellSpace::cell_of(object) - HEADER_BYTES) / 8;
        assert!(references.len() as u64 <= room, "trace of `{}` reports a word's reference more than once", info.name);
        for (place, target) in references.iter().enumerate() {
            object.slot(place as u64 * 8).store(target.address());
        }
        let count = references.len();
        references.clear();
        self.prompt.scratch = references;
        &in_order()[..count]
    }

    /// Gives the memory of a dead object back, whose references are gone.
    #[inline(always)]
    pub fn free_counted(&mut self, object: ObjectRef) {
        let mut bin = Bin::default();
        self.free_into(&mut bin, object, object.meta(), self.zeal.is_some());
        bin.empty();
    }

    /// The same for many in a row.
    #[inline(always)]
    pub fn free_into(&mut self, bin: &mut Bin, object: ObjectRef, meta: u32, buries: bool) {
        if meta & prompt_flag::CANDIDATE != 0 {
            // The entry in the candidate buffer still leads here: the bit says that it is out of date.
            BUFFERED.clear(object.granule());
        }
        if meta & (prompt_flag::LARGE | prompt_flag::SPECIAL) != 0 || buries {
            bin.empty();
            return self.free_special(object);
        }
        bin.take(&mut self.prompt.cells, object);
    }

    #[inline(never)]
    pub(in crate::plan::prompt::reclaim) fn free_special(&mut self, object: ObjectRef) {
        if object.has(prompt_flag::SPECIAL) {
            self.end_special(object);
        }
        if let Some(zeal) = &mut self.zeal {
            let cell =
                if object.has(prompt_flag::LARGE) { self.large.cell_of(object) } else { CellSpace::cell_of(object) };
            zeal.quarantine(object, cell, self.clock.epoch);
        } else if object.has(prompt_flag::LARGE) {
            self.free_large(object);
            // Drains give what waits back.
            let waits = self.large.leaving.blocks() != 0;
            self.context_mut().pending |= u64::from(waits);
        } else {
            self.prompt.cells.give_back(object);
        }
    }
}
