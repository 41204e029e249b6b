//! What was interrupted goes on, or is taken over. `[RECLAIM]`

use super::super::Cascade;
use super::Parked;
use crate::heap::Heap;
use std::ops::Range;

impl Heap {
    /// While the program runs the heap has the dying structures: the call may be left by `longjmp`.
    #[inline(never)]
    pub(in crate::plan::prompt::reclaim) fn park(&mut self, cascade: &mut Cascade, gap: &Range<usize>) {
        self.touch_next_of(cascade);
        let release_stack = self.prompt.parked_references.len();
        self.prompt.parked_references.extend(cascade.release_stack.iter());
        cascade.release_stack.clear();
        let (next, waiting, height) = (cascade.next.take(), cascade.waiting, cascade.height);
        (cascade.waiting, cascade.height) = (0, 0);
        let (large, depth) = (std::mem::take(&mut cascade.large), self.services.finalizers.depth() as usize);
        self.prompt.parked.push(Parked { next, release_stack, waiting, height, large, gap: gap.clone(), depth });
    }

    /// The call has returned.
    #[inline(never)]
    pub(in crate::plan::prompt::reclaim) fn take_out(&mut self, cascade: &mut Cascade) {
        if let Some(parked) = self.prompt.parked.pop() {
            (cascade.next, cascade.waiting, cascade.height) = (parked.next, parked.waiting, parked.height);
            cascade.large = parked.large;
            self.prompt
                .parked_references
                .drain(parked.release_stack..)
                .for_each(|target| cascade.release_stack.push(target));
        }
    }

    /// The call at this depth was left: its dying structures go on with other cascades, and the pending list has no gap.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_over_parked(&mut self, depth: usize) {
        if let Some(gap) = self.prompt.parked.last().filter(|parked| parked.depth == depth).map(|last| last.gap.clone())
        {
            let mut cascade = Cascade::default();
            self.take_out(&mut cascade);
            if cascade.next.is_some() || cascade.release_stack.len() != 0 || cascade.waiting != 0 {
                self.prompt.cascades.push(cascade);
            }
            if !gap.is_empty() {
                self.close_gap(gap.start, gap.end);
            }
        }
    }
}
