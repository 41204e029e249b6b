//! Immortal objects: they and what they reach never die, until the host takes it back.
//!
//! An immortal object has one count that no reference accounts for, so that counting never frees it and every trial
//! sees it held from outside; marks begin at it as at a root. It costs a word in a list. It is no candidate, and trials
//! stop at it: a structure that was frozen when it was complete costs the detectors nothing.
//!
//! Under the deferred plan the count of a mature object is there at once, and shown to a mark that is looking: what is
//! frozen may be garbage that no epoch has found yet, and a mark that sees the flip before the freeze would condemn it.
//! Young objects wait for the next flip; until then the caller's own reference keeps them. To be mortal again all wait
//! for the next flip. Under the prompt plan both take effect at once.

use crate::heap::Heap;
use crate::memory::list::List;
use crate::object::{ObjectRef, flag, prompt_flag};
use crate::plan::Plan;

/// The immortal objects of one heap.
#[derive(Debug, Default)]
pub struct Immortals {
    /// Each has a count.
    counted: List<ObjectRef>,
    /// Deferred plan: young, to be counted at the next flip.
    new: List<ObjectRef>,
    /// Deferred plan: to be released with the roots of the last flip.
    released: List<ObjectRef>,
}

impl Immortals {
    /// Each has a count that no reference accounts for.
    pub fn objects(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        self.counted.iter().chain(&self.released).copied()
    }
}

impl Heap {
    /// The object never dies. Twice is as good as once.
    pub fn make_immortal(&mut self, object: ObjectRef) {
        match self.plan {
            Plan::Deferred => {
                if !object.has(flag::IMMORTAL) {
                    object.add_flags(flag::IMMORTAL);
                    if object.is_mature() && object.count() != 0 {
                        self.increment(object);
                        if self.mark_discovers {
                            self.show_to_mark(object);
                        }
                        self.immortals.counted.push(object);
                    } else {
                        self.immortals.new.push(object);
                    }
                }
            }
            Plan::Prompt => {
                let is_one = object.type_info().may_be_cyclic && object.has(prompt_flag::ACYCLIC);
                if !is_one {
                    // It is settled, and what it loses from now on is not noted.
                    self.note_touched(object);
                    object.increment_exact();
                    object.add_flags(prompt_flag::ACYCLIC);
                    object.settle();
                    self.immortals.counted.push(object);
                }
            }
        }
    }

    /// All objects that are there are immortal from now on. A safepoint.
    ///
    /// # Safety
    /// As for [`collect`](Self::collect).
    pub unsafe fn freeze(heap: *mut Heap) {
        let mut objects = List::new();
        // SAFETY: by the caller's promise.
        unsafe {
            Heap::for_each_object(heap, |object| objects.push(object));
            objects.into_iter().for_each(|object| (&mut *heap).make_immortal(object));
        }
    }

    /// Immortal objects are as mortal as others again.
    pub fn unfreeze(&mut self) {
        let counted = std::mem::take(&mut self.immortals.counted);
        match self.plan {
            Plan::Deferred => {
                let new = std::mem::take(&mut self.immortals.new);
                new.iter().chain(&counted).for_each(|object| object.remove_flags(flag::IMMORTAL));
                self.immortals.released.extend(counted);
            }
            Plan::Prompt => {
                for object in counted {
                    if object.type_info().may_be_cyclic {
                        object.remove_flags(prompt_flag::ACYCLIC);
                        object.unsettle();
                    }
                    self.decrement_exact(object);
                }
            }
        }
    }

    /// Deferred plan, at a flip: counts the objects that became immortal since the last. Returns the objects to decrement.
    pub fn flip_immortals(&mut self) -> List<ObjectRef> {
        for object in std::mem::take(&mut self.immortals.new) {
            self.increment(object);
            self.immortals.counted.push(object);
        }
        std::mem::take(&mut self.immortals.released)
    }
}
