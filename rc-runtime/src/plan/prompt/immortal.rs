//! Immortal objects under the prompt plan: they are counted, and no candidates, at once.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, prompt_flag};

impl Heap {
    /// The object never dies. It is settled, and what it loses from now on is not noted.
    pub(crate) fn make_immortal_at_once(&mut self, object: ObjectRef) {
        let is_one = object.type_info().may_be_cyclic && object.has(prompt_flag::ACYCLIC);
        if !is_one {
            self.note_touched(object);
            object.increment_exact();
            object.add_flags(prompt_flag::ACYCLIC);
            object.settle();
            self.services.immortals.counted.push(object);
        }
    }

    /// These objects are mortal again.
    pub(crate) fn make_mortal_at_once(&mut self, objects: List<ObjectRef>) {
        for object in objects {
            if object.type_info().may_be_cyclic {
                object.remove_flags(prompt_flag::ACYCLIC);
                object.unsettle();
            }
            self.decrement_exact(object);
        }
    }
}
