//! The image of a stopped stack: made when its frames are laid down, forgotten before they go on. `[MEMORY]`
//!
//! Images are made in the middle of the collector's work, so their memory is taken without a safepoint, and beyond the heap's limit if
//! need be: a stack that is laid down may be all that keeps a full heap alive. Where there is none the frames stay roots until the next
//! time.

use super::{COPIED, COUNTED};
use crate::heap::Heap;
use crate::object::ObjectRef;
use crate::services::builtin;

/// Where the next part of an image stands, behind the length of this one.
const NEXT: u64 = 8;
/// Where the references begin.
const REFERENCES: u64 = 16;
/// References in one part: its cell is no large one.
const PART_MAX: usize = 1024;

impl Heap {
    /// The coroutine refers to what its frames hold, from now on: to `counted`, whose counts the frames give up, and to
    /// `copied`. It had no image. False if there is no memory: nothing has changed then.
    pub fn lay_down(&mut self, coroutine: ObjectRef, counted: &[ObjectRef], copied: &[ObjectRef]) -> bool {
        let Some(first) = self.image_of(counted) else { return false };
        let Some(second) = self.image_of(copied) else {
            self.abandon_image(first);
            return false;
        };
        copied.iter().for_each(|&object| self.recount_handle(Some(object), None));
        self.set_image(coroutine, COUNTED, first);
        self.set_image(coroutine, COPIED, second);
        true
    }

    /// The coroutine's frames go on: they have the counts that they gave up, and the image dies.
    pub fn take_up(&mut self, coroutine: ObjectRef) {
        for_each_in_image(coroutine, COUNTED, |object| self.recount_handle(Some(object), None));
        self.forget_frames(coroutine);
    }

    /// The coroutine's frames never go on: what the image holds is released with it.
    pub fn forget_frames(&mut self, coroutine: ObjectRef) {
        for place in [COUNTED, COPIED] {
            if coroutine.slot(place).read() != 0 {
                self.write(coroutine, coroutine.slot(place), 0);
            }
        }
    }

    /// The image's own count becomes that of the coroutine's reference.
    fn set_image(&mut self, coroutine: ObjectRef, place: u64, image: Option<ObjectRef>) {
        let Some(image) = image else { return };
        self.write(coroutine, coroutine.slot(place), image.address());
        self.give_up_birth_count(image);
    }

    /// Parts in a row that hold the objects; `Some(None)` of none.
    fn image_of(&mut self, objects: &[ObjectRef]) -> Option<Option<ObjectRef>> {
        let mut image: Option<ObjectRef> = None;
        for part in objects.chunks(PART_MAX) {
            let Some(made) = self.allocate_aside(builtin::frames(), part.len() as u64) else {
                self.abandon_image(image);
                return None;
            };
            for (index, object) in part.iter().enumerate() {
                made.slot(REFERENCES + index as u64 * 8).store(object.address());
            }
            // Its birth count goes along.
            made.slot(NEXT).store(image.map_or(0, ObjectRef::address));
            image = Some(made);
        }
        Some(image)
    }

    /// An image that is not needed: it holds nothing, so nothing is released with it.
    fn abandon_image(&mut self, mut image: Option<ObjectRef>) {
        while let Some(part) = image {
            // SAFETY: [HEADER] a reference word of an object.
            image = unsafe { ObjectRef::of_word(part.slot(NEXT).read()) };
            part.slot(NEXT).store(0);
            (0..part.slot(0).read()).for_each(|index| part.slot(REFERENCES + index * 8).store(0));
            self.give_up_birth_count(part);
        }
    }

    /// Takes away the count with which `allocate_aside` has made an object.
    fn give_up_birth_count(&mut self, object: ObjectRef) {
        self.recount_handle(None, Some(object));
    }
}

/// Calls `visit` with each reference in an image, those of the last frame first.
fn for_each_in_image(coroutine: ObjectRef, place: u64, mut visit: impl FnMut(ObjectRef)) {
    let mut at = coroutine.slot(place).read();
    // SAFETY: [HEADER] a reference word of an object.
    while let Some(part) = unsafe { ObjectRef::of_word(at) } {
        for index in 0..part.slot(0).read() {
            // SAFETY: [HEADER] a reference word of an object.
            let object = unsafe { ObjectRef::of_word(part.slot(REFERENCES + index * 8).read()) };
            object.into_iter().for_each(&mut visit);
        }
        at = part.slot(NEXT).read();
    }
}
