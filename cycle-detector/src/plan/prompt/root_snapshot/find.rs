//! The roots are looked at.

use super::visit;
use crate::plan::prompt::PromptDriver;
use crate::root_source::RESERVED;
use tally_heap::Heap;

impl PromptDriver {
    /// Looks at the roots.
    pub(in crate::plan::prompt) fn find_held(&mut self, heap: &mut Heap) {
        let walked = |heap: &Heap| heap.statistics.frames_walked + heap.statistics.roots_walked;
        let (before, held) = (walked(heap), &mut self.held);
        held.objects.clear_to(RESERVED);
        visit(&mut *self.stack, heap, &mut held.objects);
        held.walked = walked(heap) - before;
        heap.prompt.cells.nursery.set_depth(held.walked);
    }
}
