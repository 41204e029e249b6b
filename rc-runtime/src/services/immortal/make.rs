//! Objects become immortal, and mortal again.

use crate::heap::{Heap, HeapEntry};
use crate::memory::list::List;

impl Heap {
    /// All objects that are there are immortal from now on. A safepoint.
    pub fn freeze(mut heap: HeapEntry) {
        let mut objects = List::new();
        Heap::for_each_object(heap, |object, _| objects.push(object));
        objects.into_iter().for_each(|object| heap.make_immortal(object));
    }

    /// Immortal objects are as mortal as others again.
    pub fn unfreeze(&mut self) {
        let counted = std::mem::take(&mut self.services.immortals.counted);
        self.make_mortal(counted);
    }
}
