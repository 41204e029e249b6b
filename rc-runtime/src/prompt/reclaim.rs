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
//! The stack of this recursion stands in the dead objects themselves (the pointer reversal of Schorr and Waite 1967, on what
//! dies instead of what is marked): while a field's target is being reclaimed, the field's word holds the object that waits, and
//! the waiting object's stamp holds which field that was. An object whose last field leads on is freed before the descent,
//! so that a list needs no links at all. There is no memory to reserve and none to run out of.
//!
//! An object whose references are not plain words at fixed offsets (arrays, tagged words, traced types) first has its references
//! written to the front of its payload, in order; from there on it is an object with fields 0, 8, 16 … . A large object is
//! worked off in chunks, from a small vector of such.
//!
//! What reaches zero and is protected, or waits on the pending list, is left there.

use super::count::SETTLED;
use super::{Bin, CellSpace};
use crate::heap::Heap;
use crate::object::prompt_flag::{self, SHAPE};
use crate::object::{HEADER_BYTES, ObjectRef};
use crate::range::{self, BUFFERED};
use crate::size_class::LARGEST_CELL;
use crate::visit::Part;

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

/// A structure that is being taken apart, between two slices or at its beginning.
#[derive(Debug, Default)]
pub struct Cascade {
    /// The object to reclaim next; `None`: the waiting one goes on.
    next: Option<ObjectRef>,
    /// The object that waits for `next`, and by its words those that wait for it; 0 = none.
    waiting: u64,
    /// Large objects among the waiting, innermost last.
    large: Vec<DyingLarge>,
}

#[derive(Debug)]
struct DyingLarge {
    object: ObjectRef,
    waiting: u64,
    chunk: u64,
    /// References of the chunk, last first.
    references: Vec<ObjectRef>,
}

impl Cascade {
    pub(super) fn of(object: ObjectRef) -> Cascade {
        Cascade { next: Some(object), waiting: 0, large: vec![] }
    }

    /// References that dying objects still hold and have not been decremented: for marks and recounts.
    pub fn for_each_held(&self, mut visit: impl FnMut(ObjectRef)) {
        if let Some(next) = self.next {
            Heap::for_each_counted_reference(next, &mut visit);
        }
        let mut waiting = self.waiting;
        while waiting != 0 {
            // SAFETY: the chain of waiting objects, whose memory nobody else touches.
            let object = unsafe { ObjectRef::from_address(waiting) };
            if let Some(frame) = self.large.iter().find(|frame| frame.object == object) {
                frame.references.iter().for_each(|&target| visit(target));
                let info = object.type_info();
                for chunk in frame.chunk..info.chunk_count(info.length(object)) {
                    info.for_each_reference(object, Part::Chunk(chunk), &mut visit);
                }
                waiting = frame.waiting;
                continue;
            }
            let Frame { fields, count, at } = Frame::resume(object);
            for place in at..count {
                let word = object.slot(fields[place as usize] as u64).read();
                if range::in_heap(word) {
                    // SAFETY: [HEADER] a reference that has not been let go of.
                    visit(unsafe { ObjectRef::from_address(word) });
                }
            }
            waiting = object.slot(fields[at as usize - 1] as u64).read();
        }
    }
}

/// In a header: the object is pending, or more of its count stands there.
const MORE: u64 = (prompt_flag::PENDING as u64) << 32 | u32::MAX as u64;

/// Which fields of a dying object are left.
struct Frame {
    fields: &'static [u32],
    count: u32,
    at: u32,
}

impl Frame {
    /// The frame of an object that waited: its stamp holds the number of fields and the next one.
    #[inline(always)]
    fn resume(object: ObjectRef) -> Frame {
        let word = object.stamp();
        Frame { fields: Frame::fields_of(object), count: word >> 16, at: word & 0xffff }
    }

    fn fields_of(object: ObjectRef) -> &'static [u32] {
        let info = object.type_info();
        if info.simple { info.fixed.as_slice() } else { &IN_ORDER }
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
    pub(super) unsafe fn run_cascade(heap: *mut Heap, mut cascade: Cascade) -> bool {
        loop {
            // SAFETY: by the caller's promise; the borrows end before a finalizer runs.
            unsafe {
                match (&mut *heap).take_apart(&mut cascade) {
                    Step::Done => return true,
                    Step::SliceEnds => {
                        (&mut *heap).prompt.cascades.push(cascade);
                        return false;
                    }
                    Step::Finalize(object) => {
                        let dead = Heap::run_finalizer(heap, object);
                        cascade.next = dead.then_some(object);
                    }
                }
            }
        }
    }

    /// Goes on until nothing is left, the slice ends, or a finalizer has to run.
    ///
    /// Expected cost for each object that dies: its header's line, its block's entry, and about thirty instructions. The shape
    /// of the last type is kept at hand, not only to save the loads: a predicted comparison lets the processor read the next
    /// object's fields before it knows their offsets.
    fn take_apart(&mut self, cascade: &mut Cascade) -> Step {
        let mut units = self.prompt.units_left;
        let mut waiting = cascade.waiting;
        let mut next = cascade.next.take().map(|next| (next, next.meta()));
        // Neither changes while nobody is called.
        let buries = self.zeal.is_some();
        let protects = !self.prompt.protected.is_empty();
        let (mut shape, mut shape_fields): (u32, &'static [u32]) = (0, &[]);
        let mut bin = Bin::default();
        let step = 'objects: loop {
            let (object, meta, fields, count, mut at);
            if let Some((dying, dying_meta)) = next.take() {
                (object, meta) = (dying, dying_meta);
                units -= 1;
                if units < 0 && !self.may_go_on(&mut units) {
                    object.add_flags(prompt_flag::DYING);
                    cascade.next = Some(object);
                    break Step::SliceEnds;
                }
                at = 0;
                if meta & SHAPE == shape {
                    (fields, count) = (shape_fields, shape_fields.len() as u32);
                } else if meta & (prompt_flag::ODD | prompt_flag::LARGE | prompt_flag::SPECIAL) == 0 {
                    (shape, shape_fields) = (meta & SHAPE, object.type_info().fixed.as_slice());
                    (fields, count) = (shape_fields, shape_fields.len() as u32);
                } else if self.is_to_be_finalized(object) {
                    break Step::Finalize(object);
                } else if meta & prompt_flag::LARGE != 0 {
                    object.add_flags(prompt_flag::DYING);
                    cascade.large.push(DyingLarge { object, waiting, chunk: 0, references: vec![] });
                    waiting = object.address();
                    continue;
                } else {
                    (fields, count) = self.lay_out(object);
                }
            } else {
                if waiting == 0 {
                    break Step::Done;
                }
                // SAFETY: the chain of waiting objects, whose memory nobody else touches.
                object = unsafe { ObjectRef::from_address(waiting) };
                let header = object.header();
                meta = (header >> 32) as u32;
                if meta & prompt_flag::LARGE != 0 {
                    let dying = cascade.large.last_mut().expect("a large object that waits is on the list");
                    debug_assert_eq!(dying.object, object);
                    match self.advance_large(dying, &mut units) {
                        Advance::To(target) => next = Some((target, target.meta())),
                        Advance::SliceEnds => break Step::SliceEnds,
                        Advance::Freed => {
                            waiting = dying.waiting;
                            cascade.large.pop();
                        }
                    }
                    continue;
                }
                fields = if meta & SHAPE == shape { shape_fields } else { Frame::fields_of(object) };
                (count, at) = (header as u32 >> 16, header as u32 & 0xffff);
                waiting = object.slot(fields[at as usize - 1] as u64).read();
            }
            while at < count {
                debug_assert!((at as usize) < fields.len());
                // SAFETY: `count` is at most the number of fields.
                let slot = object.slot(unsafe { *fields.get_unchecked(at as usize) } as u64);
                let word = slot.read();
                at += 1;
                if !range::in_heap(word) {
                    continue;
                }
                // SAFETY: [HEADER] a reference word of an object; it has not been let go of yet.
                let target = unsafe { ObjectRef::from_address(word) };
                let byte = target.count().wrapping_sub(1);
                target.set_count(byte);
                if byte > SETTLED {
                    continue;
                }
                let header = target.header();
                let dies = byte & !SETTLED == 0 && header & MORE == 0 && !protects;
                if !dies && !self.is_left_at_zero(target) {
                    continue;
                }
                let target_meta = (header >> 32) as u32;
                if target_meta & SHAPE == shape && !leads_on(target, shape_fields) {
                    // Nothing to descend for.
                    units -= 1;
                    self.free_into(&mut bin, target, target_meta, buries);
                    continue;
                }
                if at == count {
                    self.free_into(&mut bin, object, meta, buries);
                } else {
                    slot.store(waiting);
                    object.set_header(meta | prompt_flag::DYING, count << 16 | at);
                    waiting = object.address();
                }
                next = Some((target, target_meta));
                continue 'objects;
            }
            self.free_into(&mut bin, object, meta, buries);
        };
        bin.empty();
        cascade.waiting = waiting;
        self.prompt.units_left = units;
        step
    }

    /// The last words of an object whose death is no common one; true when its finalizer comes first.
    fn is_to_be_finalized(&mut self, object: ObjectRef) -> bool {
        let special = object.has(prompt_flag::SPECIAL);
        if special {
            self.begin_reclaim(object);
        }
        let finalizes = object.needs_finalizer();
        if special && !finalizes {
            self.dismantle(object);
        }
        finalizes
    }

    #[cold]
    fn may_go_on(&mut self, units: &mut i64) -> bool {
        let goes_on = self.has_more_time();
        *units = if goes_on { self.prompt.units_left } else { 0 };
        goes_on
    }

    /// Takes one from the count of what a dying large object referred to; true when it is to be reclaimed now.
    fn release(&mut self, target: ObjectRef) -> bool {
        let byte = target.count().wrapping_sub(1);
        target.set_count(byte);
        if byte > SETTLED {
            return false;
        }
        if byte & !SETTLED == 0 && target.header() & MORE == 0 && self.prompt.protected.is_empty() {
            return true;
        }
        self.is_left_at_zero(target)
    }

    /// Not settled, or at zero and waiting on the pending list, protected, or with more in the header.
    #[cold]
    fn is_left_at_zero(&mut self, target: ObjectRef) -> bool {
        if target.exact_count() == 0 && !target.has(prompt_flag::PENDING) && !self.is_protected(target) {
            return true;
        }
        self.note_low(target);
        false
    }

    /// Writes the references of an object of any shape to the front of its payload.
    #[inline(never)]
    fn lay_out(&mut self, object: ObjectRef) -> (&'static [u32], u32) {
        let info = object.type_info();
        if info.simple {
            return (info.fixed.as_slice(), info.fixed.len() as u32);
        }
        let mut references = std::mem::take(&mut self.prompt.scratch);
        info.for_each_reference(object, Part::Whole, |target| references.push(target));
        let room = (CellSpace::cell_of(object) - HEADER_BYTES) / 8;
        assert!(references.len() as u64 <= room, "trace of `{}` reports a word's reference more than once", info.name);
        for (place, target) in references.iter().enumerate() {
            object.slot(place as u64 * 8).store(target.address());
        }
        let count = references.len() as u32;
        references.clear();
        self.prompt.scratch = references;
        (&IN_ORDER, count)
    }

    fn advance_large(&mut self, dying: &mut DyingLarge, units: &mut i64) -> Advance {
        let info = dying.object.type_info();
        loop {
            while let Some(target) = dying.references.pop() {
                if self.release(target) {
                    return Advance::To(target);
                }
            }
            if !info.has_references || dying.chunk == info.chunk_count(info.length(dying.object)) {
                self.free_counted(dying.object);
                return Advance::Freed;
            }
            if *units < 0 && !self.may_go_on(units) {
                return Advance::SliceEnds;
            }
            info.for_each_reference(dying.object, Part::Chunk(dying.chunk), |target| dying.references.push(target));
            dying.references.reverse();
            *units -= 1 + dying.references.len() as i64;
            dying.chunk += 1;
        }
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
            self.large.free(object);
        } else {
            let mut bin = Bin::default();
            bin.take(&mut self.prompt.cells, object);
            bin.empty();
        }
    }
}

/// Whether one of the object's fields refers to an object.
#[inline(always)]
fn leads_on(object: ObjectRef, fields: &[u32]) -> bool {
    fields.iter().any(|&offset| range::in_heap(object.slot(offset as u64).read()))
}

enum Advance {
    To(ObjectRef),
    Freed,
    SliceEnds,
}
