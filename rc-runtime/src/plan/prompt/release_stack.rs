//! References that freed objects have left behind, and the loop that releases them: nearly every object dies here. `[RECLAIM]`
//!
//! ```text
//! release(reference):                  -- the first of the object's references next, the others wait on the stack
//!     count(object) −= 1
//!     if count(object) = 0:
//!         push the object's references, last first
//!         free(object)
//!     release(pop)
//! ```
//!
//! An object's references are read once, and its cell is free before the first of them is released: no object is visited twice, and
//! nothing is written but the free list. The order is that of the recursive form all the same, because a reference is decremented
//! only when its turn comes. The stack is short: what finds no room on it waits where it lies (`reclaim`), and so does what has a
//! finalizer, is larger, or is read by a trace function.
//!
//! Expected cost of an object with two references: 2 loads of its header and count, 2 of its fields, 3 stores, about 30
//! instructions. There is no call in the loop but the one for a block's end, so that everything is in registers.

use super::count::{FRESH, SETTLED};
use super::{Bin, CellSpace};
use crate::memory::range::{self, BUFFERED};
use crate::object::{ObjectRef, prompt_flag};
use crate::type_registry::TypeInfo;
use std::mem::MaybeUninit;

/// References that may wait. More are not needed for trees; a list that is linked by its first field and has others
/// needs any number.
pub(super) const ROOM: usize = 128;

/// Flags of an object that dies otherwise than in this loop.
pub(super) const BEYOND: u32 =
    prompt_flag::NON_TRIVIAL | prompt_flag::LARGE | prompt_flag::SPECIAL | prompt_flag::PENDING;

/// A stack of references that no object holds any more, and that are still counted.
#[derive(Debug)]
pub(super) struct ReleaseStack {
    len: usize,
    words: [MaybeUninit<u64>; ROOM],
}

/// The shape of the last type, kept at hand.
///
/// Not only to save the loads: a predicted comparison lets the processor read the next object's fields before it knows their
/// offsets.
#[derive(Debug)]
pub(super) struct Shape {
    /// The header of an object of this type that nothing is noted of.
    header: u64,
    fields: &'static [u32],
    /// Flags of a meta word with which nothing is done here.
    beyond: u32,
}

/// Why the loop has stopped.
pub(super) enum Stop {
    /// Nothing is left above the height that was named.
    Empty,
    /// The units are used up; this reference is the next.
    UnitsEnd(ObjectRef),
    /// This reference is the next, and more has to be looked at than is here.
    Beyond(ObjectRef),
}

impl Default for ReleaseStack {
    #[inline(always)]
    fn default() -> Self {
        ReleaseStack { len: 0, words: [const { MaybeUninit::uninit() }; ROOM] }
    }
}

impl ReleaseStack {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn room(&self) -> usize {
        ROOM - self.len
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Pushes a reference.
    #[inline(always)]
    pub(super) fn push(&mut self, target: ObjectRef) {
        self.words[self.len].write(target.address());
        self.len += 1;
    }

    /// Takes the last reference that is above `height`.
    #[inline(always)]
    pub(super) fn pop(&mut self, height: usize) -> Option<ObjectRef> {
        if self.len == height {
            return None;
        }
        self.len -= 1;
        // SAFETY: written by a push, of a reference [HEADER].
        let word = unsafe { self.words[self.len].assume_init() };
        // SAFETY: written by a push, of a reference [HEADER].
        Some(unsafe { ObjectRef::from_address(word) })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ObjectRef> {
        let words = self.words[..self.len].iter();
        // SAFETY: [LIST] [HEADER] written by a push, of a reference.
        let words = words.map(|word| unsafe { word.assume_init() });
        // SAFETY: [LIST] [HEADER] written by a push, of a reference.
        words.map(|word| unsafe { ObjectRef::from_address(word) })
    }
}

impl Shape {
    /// Of no type yet; with `every` object there is more to be looked at.
    pub(super) fn none(every: bool) -> Shape {
        Shape { header: u64::MAX, fields: &[], beyond: if every { u32::MAX } else { BEYOND } }
    }
}

impl ReleaseStack {
    /// Lets go of `first`, and of all that wait above `height`.
    #[inline(never)]
    pub(super) fn let_go(
        &mut self,
        first: ObjectRef,
        height: usize,
        units: &mut i64,
        shape: &mut Shape,
        bin_and_cells: (&mut Bin, &mut CellSpace),
    ) -> Stop {
        self.let_go_here(first, height, units, shape, bin_and_cells)
    }

    /// The same as a part of its caller: what begins and ends there is in registers all the time.
    #[inline(always)]
    pub(super) fn let_go_here(
        &mut self,
        first: ObjectRef,
        height: usize,
        units: &mut i64,
        shape: &mut Shape,
        (bin, cells): (&mut Bin, &mut CellSpace),
    ) -> Stop {
        let mut target = first;
        let mut len = self.len;
        let mut left = *units;
        let Shape { mut header, mut fields, beyond } = *shape;
        let mut open = std::mem::take(bin);
        let mut full = (ROOM + 1).saturating_sub(fields.len());
        let stop = loop {
            let byte = target.count();
            if byte & !SETTLED == 1 {
                let found = target.header();
                if found != header {
                    let meta = (found >> 32) as u32;
                    if meta & beyond != 0 || found as u32 != 0 {
                        if left <= 0 || beyond == u32::MAX || found as u32 != 0 {
                            break Stop::Beyond(target);
                        }
                        let Some(above) = self.push_words(target, meta, len) else { break Stop::Beyond(target) };
                        left -= (1 + above - len) as i64;
                        open = open.with(cells, target);
                        len = above;
                        if len == height {
                            break Stop::Empty;
                        }
                        len -= 1;
                        target = self.at(len);
                        continue;
                    }
                    if meta & prompt_flag::CANDIDATE != 0 {
                        // The entry in the candidate buffer still leads here: the bit says that it is out of date.
                        BUFFERED.clear(target.granule());
                    }
                    fields = target.type_info().fixed.as_slice();
                    header = ((meta & !prompt_flag::CANDIDATE) as u64) << 32;
                    // Room for all but one.
                    full = (ROOM + 1).saturating_sub(fields.len());
                }
                if len >= full {
                    break Stop::Beyond(target);
                }
                if left <= 0 {
                    break Stop::UnitsEnd(target);
                }
                left -= 1;
                let mut first = 0;
                if let Some((&offset, later)) = fields.split_first() {
                    for &offset in later.iter().rev() {
                        let word = target.slot(offset as u64).read();
                        if range::in_heap(word) {
                            // SAFETY: [LIST] there was room for all fields.
                            unsafe { self.words.get_unchecked_mut(len).write(word) };
                            len += 1;
                        }
                    }
                    first = target.slot(offset as u64).read();
                }
                open = open.with(cells, target);
                if range::in_heap(first) {
                    // SAFETY: [HEADER] a reference word of an object; it has not been released yet.
                    target = unsafe { ObjectRef::from_address(first) };
                    continue;
                }
            } else if byte > FRESH {
                target.set_count(byte - 1);
            } else {
                break Stop::Beyond(target);
            }
            if len == height {
                break Stop::Empty;
            }
            len -= 1;
            target = self.at(len);
        };
        *bin = open;
        (shape.header, shape.fields) = (header, fields);
        *units = left;
        self.len = len;
        stop
    }

    /// The reference at a place where one has been pushed.
    #[inline(always)]
    fn at(&self, place: usize) -> ObjectRef {
        // SAFETY: [LIST] [HEADER] written by a push, of a reference.
        let word = unsafe { self.words.get_unchecked(place) };
        // SAFETY: [LIST] [HEADER] written by a push, of a reference.
        let word = unsafe { word.assume_init() };
        // SAFETY: [LIST] [HEADER] written by a push, of a reference.
        unsafe { ObjectRef::from_address(word) }
    }

    /// Pushes what a dead object holds that is read by words, the last first, onto a stack of `len`; its new length. `None`: it is no
    /// such object, or there is no room, and nothing has changed.
    #[inline(never)]
    fn push_words(&mut self, object: ObjectRef, meta: u32, len: usize) -> Option<usize> {
        if meta & BEYOND != prompt_flag::NON_TRIVIAL {
            return None;
        }
        let info = object.type_info();
        let elements = object.elements_read_by_words(info, ROOM - len)?;
        if meta & prompt_flag::CANDIDATE != 0 {
            // The entry in the candidate buffer still leads here: the bit says that it is out of date.
            BUFFERED.clear(object.granule());
        }
        Some(match info.reads_plain_words() {
            true => self.push_each(object, info, elements, len, |word| word),
            false => self.push_each(object, info, elements, len, |word| info.untagged(word)),
        })
    }

    /// Pushes the references in so many elements and in the fixed part, for which there is room.
    #[inline(always)]
    fn push_each(
        &mut self,
        object: ObjectRef,
        info: &TypeInfo,
        elements: u64,
        mut len: usize,
        address_in: impl Fn(u64) -> u64,
    ) -> usize {
        let mut push = |offset: u64| {
            let address = address_in(object.slot(offset).read());
            if range::in_heap(address) {
                // SAFETY: [LIST] there was room for all words.
                unsafe { self.words.get_unchecked_mut(len).write(address) };
                len += 1;
            }
        };
        (0..elements).rev().for_each(|index| push(info.size + index * 8));
        info.fixed.as_slice().iter().rev().for_each(|&offset| push(u64::from(offset)));
        len
    }
}

impl ObjectRef {
    /// The number of elements that hold references, of a small object that is read by words; `None` of another object, and of one with
    /// more than `most` words.
    #[inline(always)]
    fn elements_read_by_words(self, info: &TypeInfo, most: usize) -> Option<u64> {
        if !info.read_by_words {
            return None;
        }
        let elements = if info.tail_refers { info.length(self) } else { 0 };
        (elements + info.fixed.len() as u64 <= most as u64).then_some(elements)
    }

    /// The addresses in the words of a small object that is read by words, those of its fixed part first, of which some are no
    /// reference's; `None` of another object, and of one with more than `most`.
    #[inline(always)]
    pub(super) fn addresses_in_words(self, most: usize) -> Option<impl Iterator<Item = u64>> {
        let info = self.type_info();
        let elements = self.elements_read_by_words(info, most)?;
        let elements = (0..elements).map(move |index| info.size + index * 8);
        let offsets = info.fixed.iter().map(|&offset| u64::from(offset)).chain(elements);
        Some(offsets.map(move |offset| info.untagged(self.slot(offset).read())))
    }
}
