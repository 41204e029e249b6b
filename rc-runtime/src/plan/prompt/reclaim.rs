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
//! large objects, references that are neither words at fixed offsets nor elements of one word of a small array, and what finds the
//! stack full. Such an object *waits*: it
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
mod step;

use crate::memory::list::List;
use crate::memory::size_class::LARGEST_CELL;
use crate::object::ObjectRef;
use crate::object::prompt_flag;
use crate::plan::prompt::release_stack::{ROOM, ReleaseStack};
use crate::visit::Part;
pub(super) use parked::Parked;
use std::sync::OnceLock;

/// Offsets 0, 8, 16 …: the fields of an object whose references were written to its front. Made when a heap of this plan is, so that no
/// executable has eight KiB of them, and no death needs memory.
fn in_order() -> &'static [u32] {
    static OFFSETS: OnceLock<Box<[u32]>> = OnceLock::new();
    OFFSETS.get_or_init(|| (0..LARGEST_CELL as u32).step_by(8).collect())
}

/// Allocates what deaths need.
pub(in crate::plan) fn prepare_deaths() {
    in_order();
}

/// References of a waiting object that are put on the stack at once, at most.
const AT_ONCE: usize = 32;

/// A structure that is being taken apart, between two slices or at its beginning.
#[derive(Debug)]
pub struct Cascade {
    /// The reference to release next.
    pub(super) next: Option<ObjectRef>,
    /// Those after it, the last on top.
    pub(super) release_stack: ReleaseStack,
    /// The object that went to wait last, and by its words those before it; 0 = none.
    waiting: u64,
    /// Height of `release_stack` at which it did.
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
        Cascade { next: None, release_stack: ReleaseStack::default(), waiting: 0, height: 0, large: List::new() }
    }
}

impl Cascade {
    /// The object is at zero; from now on the cascade holds it, and releases it first.
    pub(super) fn add(&mut self, object: ObjectRef) {
        object.set_count(object.count() + 1);
        self.next = Some(object);
    }

    /// A structure of which this reference is the next to be released, and those on the stack after it.
    #[inline(always)]
    pub(super) fn begun(next: ObjectRef, waiting: &ReleaseStack) -> Cascade {
        let mut cascade = Cascade { next: Some(next), ..Cascade::default() };
        waiting.iter().for_each(|target| cascade.release_stack.push(target));
        cascade
    }

    /// References that dying objects still hold and have not been decremented.
    fn for_each_held(&self, mut visit: impl FnMut(ObjectRef)) {
        self.next.into_iter().chain(self.release_stack.iter()).for_each(&mut visit);
        for_each_held_by_waiting(self.waiting, &self.large, visit);
    }

    /// References of a waiting object that are taken next, at most: half the room, and one more, which needs none.
    fn room(&self) -> usize {
        (self.release_stack.room() / 2 + 1).min(AT_ONCE)
    }

    /// Puts references where they come next, the last first.
    fn put(&mut self, references: &[ObjectRef]) {
        if let Some((&next, later)) = references.split_last() {
            later.iter().for_each(|&target| self.release_stack.push(target));
            self.next = Some(next);
        }
    }

    fn height_of(&self, waiting: u64) -> usize {
        if waiting == 0 {
            return 0;
        }
        // SAFETY: [HEADER] a waiting object; its memory stays until it is released.
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
        let fields = if info.fixed_only { info.fixed.as_slice() } else { in_order() };
        Frame { fields: &fields[..stamp >> 12 & 0xfff], at: stamp & 0xfff, height: stamp >> 24 }
    }

    fn write(&self, object: ObjectRef) {
        let stamp = self.height << 24 | self.fields.len() << 12 | self.at;
        object.set_header(object.meta() | prompt_flag::DYING, stamp as u32);
    }
}

/// Why taking apart has stopped.
pub(super) enum Step {
    Done,
    SliceEnds,
    /// The object's destructor runs now; the object is next afterwards, if it is dead then.
    Finalize(ObjectRef),
}

/// The reference in a field that is a plain word.
fn reference_at(object: ObjectRef, offset: u32) -> Option<ObjectRef> {
    let word = object.slot(offset as u64).read();
    // SAFETY: [HEADER] a reference word of an object; it has not been released yet.
    unsafe { ObjectRef::of_word(word) }
}
