//! How an object dies, and what dies with it. `[RECLAIM]` `[BOUND]`
//!
//! The order is that of the recursive form, which this file never uses, because lists are ten million nodes long:
//!
//! ```text
//! reclaim(object):            -- its count is zero
//!     finalize(object)        -- if its type has a destructor that has not run; if the count rose, stop: it lives
//!     for each reference field, by offset, then each element, by index:
//!         count(target) −= 1
//!         if count(target) = 0: reclaim(target)
//!     free(object)
//! ```
//!
//! (That `free` may also come first, once the references have been read: the program cannot tell.) The stack of this recursion is a short
//! one, the *release stack*, and nearly every object dies in its loop (`release_stack`). The others come here: finalizers,
//! large objects, references that are not plain words at fixed offsets, and what finds the stack full. Such an object *waits*: it
//! keeps its memory and its references, a few of which at a time are put on the stack, and it is freed with its last.
//!
//! Objects that wait are linked through themselves (the pointer reversal of Schorr and Waite 1967, on what dies instead
//! of what is marked): the word of the last reference that was taken holds the object that has waited longer, and the
//! stamp holds how many there are, which is the next, and at which height of the stack the object went to wait: what
//! lies above goes first. So there is no memory to reserve and none to run out of. References that are not plain words
//! are first written to the front of the payload, in order. A large object is worked off in chunks, from a small vector
//! of such.
//!
//! An object that reaches zero and is protected, or waits on the pending list, is left there.

mod parked;

use super::count::SETTLED;
use super::{Bin, CellSpace};
use crate::heap::Heap;
use crate::memory::list::List;
use crate::memory::range::BUFFERED;
use crate::memory::size_class::LARGEST_CELL;
use crate::object::prompt_flag;
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::plan::prompt::release_stack::{BEYOND, Estate, ROOM, Shape, Stop};
use crate::visit::Part;
pub(super) use parked::Parked;
use smallvec::SmallVec;
use std::ops::Range;

/// Offsets 0, 8, 16 …: the fields of an object whose references were written to its front.
static IN_ORDER: [u32; (LARGEST_CELL / 8) as usize] = {
    let mut offsets = [0; (LARGEST_CELL / 8) as usize];
    let mut index = 0;
    while index < offsets.len() {
        offsets[index] = index as u32 * 8;
        index += 1;
    }
    offsets
};

/// References of a waiting object that are put on the stack at once, at most.
const AT_ONCE: usize = 32;

/// A structure that is being taken apart, between two slices or at its beginning.
#[derive(Debug)]
pub struct Cascade {
    /// The reference to release next.
    pub(super) next: Option<ObjectRef>,
    /// Those after it, the last on top.
    pub(super) estate: Estate,
    /// The object that went to wait last, and by its words those before it; 0 = none.
    waiting: u64,
    /// Height of `estate` at which it did.
    height: usize,
    /// Large objects among the waiting, innermost last.
    large: List<DyingLarge>,
}

#[derive(Debug)]
pub(super) struct DyingLarge {
    pub(super) object: ObjectRef,
    before: u64,
    height: usize,
    pub(super) chunk: u64,
    /// References of the chunk, last first.
    pub(super) references: List<ObjectRef>,
}

impl Default for Cascade {
    /// Each drain has one: it is made in place, or its kilobyte would be copied.
    #[inline(always)]
    fn default() -> Self {
        Cascade { next: None, estate: Estate::default(), waiting: 0, height: 0, large: List::new() }
    }
}

impl Cascade {
    /// The object is at zero; from now on the cascade holds it, and releases it first.
    pub(super) fn add(&mut self, object: ObjectRef) {
        object.set_count(object.count() + 1);
        self.next = Some(object);
    }

    /// References that dying objects still hold and have not been decremented.
    fn for_each_held(&self, mut visit: impl FnMut(ObjectRef)) {
        self.next.into_iter().chain(self.estate.iter()).for_each(&mut visit);
        for_each_held_by_waiting(self.waiting, &self.large, visit);
    }

    /// References of a waiting object that are taken next, at most: half the room, and one more, which needs none.
    fn room(&self) -> usize {
        (self.estate.room() / 2 + 1).min(AT_ONCE)
    }

    /// Puts references where they come next, the last first.
    fn put(&mut self, references: &[ObjectRef]) {
        if let Some((&next, later)) = references.split_last() {
            later.iter().for_each(|&target| self.estate.push(target));
            self.next = Some(next);
        }
    }

    fn height_of(&self, waiting: u64) -> usize {
        if waiting == 0 {
            return 0;
        }
        // SAFETY: as in `for_each_held_by_waiting`.
        let object = unsafe { ObjectRef::from_address(waiting) };
        match object.has(prompt_flag::LARGE) {
            true => self.large.last().map_or(0, |frame| frame.height),
            false => object.stamp() as usize >> 24,
        }
    }
}

/// The same of the object that went to wait last, and of those before it.
fn for_each_held_by_waiting(mut waiting: u64, large: &[DyingLarge], mut visit: impl FnMut(ObjectRef)) {
    while waiting != 0 {
        // SAFETY: the chain of waiting objects, whose memory no other code touches.
        let object = unsafe { ObjectRef::from_address(waiting) };
        if let Some(frame) = large.iter().find(|frame| frame.object == object) {
            frame.references.iter().for_each(|&target| visit(target));
            let info = object.type_info();
            for chunk in frame.chunk..info.chunk_count(info.length(object)) {
                info.for_each_reference(object, Part::Chunk(chunk), &mut visit);
            }
            waiting = frame.before;
            continue;
        }
        let Frame { fields, at, .. } = Frame::of(object);
        fields[at..].iter().filter_map(|&offset| reference_at(object, offset)).for_each(&mut visit);
        waiting = object.slot(fields[at - 1] as u64).read();
    }
}

/// The stamp of a small object that waits: the height, the number of fields, the next one.
struct Frame {
    fields: &'static [u32],
    at: usize,
    height: usize,
}

const _: () = assert!(LARGEST_CELL / 8 < 1 << 12 && ROOM < 1 << 8);

impl Frame {
    fn of(object: ObjectRef) -> Frame {
        let (info, stamp) = (object.type_info(), object.stamp() as usize);
        let fields = if info.fixed_only { info.fixed.as_slice() } else { &IN_ORDER };
        Frame { fields: &fields[..stamp >> 12 & 0xfff], at: stamp & 0xfff, height: stamp >> 24 }
    }

    fn write(&self, object: ObjectRef) {
        let stamp = self.height << 24 | self.fields.len() << 12 | self.at;
        object.set_header(object.meta() | prompt_flag::DYING, stamp as u32);
    }
}

/// Why taking apart has stopped.
enum Step {
    Done,
    SliceEnds,
    /// The object's destructor runs now; the object is next afterwards, if it is dead then.
    Finalize(ObjectRef),
}

impl Heap {
    /// Takes a structure apart; false when the slice ended first, and then it is the last on the list of cascades.
    ///
    /// # Safety
    /// As for [`prompt_safepoint`](Self::prompt_safepoint).
    pub(super) unsafe fn run_cascade(heap: *mut Heap, cascade: &mut Cascade, gap: Range<usize>) -> bool {
        loop {
            // SAFETY: by the caller's promise; the borrows end before a finalizer runs.
            unsafe {
                match (&mut *heap).take_apart(cascade) {
                    Step::Done => return true,
                    Step::SliceEnds => {
                        (&mut *heap).touch_next_of(cascade);
                        (&mut *heap).prompt.cascades.push(std::mem::take(cascade));
                        return false;
                    }
                    Step::Finalize(object) => {
                        (&mut *heap).begin_finalizer_in_slice();
                        (&mut *heap).park(cascade, &gap);
                        let is_dead = Heap::run_finalizer(heap, object);
                        (&mut *heap).take_out(cascade);
                        (&mut *heap).end_finalizer_in_slice();
                        if is_dead {
                            cascade.add(object);
                        }
                    }
                }
            }
        }
    }

    /// An object at zero that holds nothing and is none of the special kinds: it is free. That is what most temporaries are.
    #[inline(always)]
    pub(super) fn dies_alone(&mut self, object: ObjectRef) -> bool {
        if object.has(BEYOND) || self.zeal.is_some() || self.prompt.units_left <= 0 {
            return false;
        }
        let fields = object.type_info().fixed.as_slice();
        if fields.iter().any(|&offset| reference_at(object, offset).is_some()) {
            return false;
        }
        self.prompt.units_left -= 1;
        self.free_counted(object);
        true
    }

    /// Goes on until nothing is left, the slice ends, or a finalizer has to run.
    fn take_apart(&mut self, cascade: &mut Cascade) -> Step {
        // Neither changes while no finalizer runs.
        let mut shape = Shape::none(self.zeal.is_some() || !self.prompt.protected.is_empty());
        let mut bin = Bin::default();
        let step = loop {
            let next = cascade.next.take().or_else(|| cascade.estate.pop(cascade.height));
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
            match cascade.estate.let_go(target, cascade.height, units, &mut shape, (&mut bin, cells)) {
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
    fn has_let_go_weakly(&mut self, object: ObjectRef) -> bool {
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
    fn release(&mut self, target: ObjectRef) -> bool {
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
    fn begin(&mut self, cascade: &mut Cascade, bin: &mut Bin, object: ObjectRef) {
        if self.prompt.watch.is_on {
            self.touch_held(object);
        }
        let (before, height) = (cascade.waiting, cascade.estate.len());
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
    fn resume(&mut self, cascade: &mut Cascade, bin: &mut Bin) {
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
    fn go_on(&mut self, cascade: &mut Cascade, bin: &mut Bin, object: ObjectRef, mut frame: Frame, before: u64) {
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

    fn go_on_large(&mut self, cascade: &mut Cascade) {
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
    fn lay_out(&mut self, object: ObjectRef) -> &'static [u32] {
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
        &IN_ORDER[..count]
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
            BUFFERED.clear(object.address());
        }
        if meta & (prompt_flag::LARGE | prompt_flag::SPECIAL) != 0 || buries {
            bin.empty();
            return self.free_special(object);
        }
        bin.take(&mut self.prompt.cells, object);
    }

    #[inline(never)]
    fn free_special(&mut self, object: ObjectRef) {
        if object.has(prompt_flag::SPECIAL) {
            self.end_special(object);
        }
        if let Some(zeal) = &mut self.zeal {
            let cell =
                if object.has(prompt_flag::LARGE) { self.large.cell_of(object) } else { CellSpace::cell_of(object) };
            zeal.bury(object, cell, self.epoch);
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

/// The reference in a field that is a plain word.
fn reference_at(object: ObjectRef, offset: u32) -> Option<ObjectRef> {
    let word = object.slot(offset as u64).read();
    // SAFETY: [HEADER] a reference word of an object; it has not been released yet.
    unsafe { ObjectRef::of_word(word) }
}
