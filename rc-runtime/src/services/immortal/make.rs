//! Objects become immortal, and mortal again.

#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a heap that the program may come back to is a pointer, followed step by step"
)]

use crate::heap::Heap;
use crate::memory::list::List;

impl Heap {
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
        let counted = std::mem::take(&mut self.services.immortals.counted);
        self.make_mortal(counted);
    }
}
