//! Immortal objects under the deferred plan: a mature object has the count at once, a young one at the next flip.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, flag};

impl Heap {
    /// The object never dies. A mark that is looking is shown it: it saw the flip before, and may condemn it.
    pub(crate) fn make_immortal_at_flip(&mut self, object: ObjectRef) {
        if object.has(flag::IMMORTAL) {
            return;
        }
        object.add_flags(flag::IMMORTAL);
        if !self.marks_instead_of_counting() && object.is_mature() && object.count() != 0 {
            self.increment(object);
            if self.mark_phase().is_shown_references() {
                self.show_to_mark(object);
            }
            self.services.immortals.counted.push(object);
        } else {
            self.services.immortals.new.push(object);
        }
    }

    /// These objects, and those that wait for the flip, are mortal again.
    pub(crate) fn make_mortal_at_flip(&mut self, objects: List<ObjectRef>) {
        let new = std::mem::take(&mut self.services.immortals.new);
        new.iter().chain(&objects).for_each(|object| object.remove_flags(flag::IMMORTAL));
        self.services.immortals.released.extend(objects);
    }

    /// At a flip: objects that have become immortal since the last are counted. Returns the objects to release.
    pub fn flip_immortals(&mut self) -> List<ObjectRef> {
        for object in std::mem::take(&mut self.services.immortals.new) {
            self.increment(object);
            self.services.immortals.counted.push(object);
        }
        std::mem::take(&mut self.services.immortals.released)
    }
}
