//! The collector's questions, answered by walks: of the stack that runs, in parts, and of those that have stopped.

use super::{Rest, StackRoots, anchor, take};
use crate::module::registry;
use crate::stack::bounds;
use crate::stack::coroutine::{self, frames};
use crate::stack::diversion::{self, Removal};
use crate::stack::root_metadata;
use crate::stack::shadow_stack::{self, ChainEnd};
use stack_roots::Position;
use tally_collector::root_source::{Headway, RootList, RootSource};
use tally_heap::Heap;

/// Frames that the walk visits in the time of one step of the unwinder, at least.
const FRAMES_PER_STEP: u64 = 4;

impl RootSource for StackRoots {
    fn lay_down(&mut self, heap: &mut Heap) {
        frames::lay_down_all(self, heap);
    }

    fn begin(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        debug_assert!(self.rest.is_none());
        frames::push_those_not_laid_down(self, heap, into);
        let Some(registers) = anchor(heap.context_mut()) else { return Headway::Done };
        self.refresh();
        coroutine::current().into_iter().for_each(coroutine::Record::note_collector);
        let may_pause = self.may_pause(heap, &registers);
        let limit = if may_pause { frames } else { usize::MAX };
        let from = Position { is_active: may_pause, ..Position::from(registers) };
        // Frames that lend roots from here on will record themselves again.
        let address_taken_before = std::mem::take(&mut heap.context_mut().address_taken_high);
        let mut address_taken = 0;
        let mut rest = self.walk(heap, from, limit, &mut address_taken, into);
        while let Some(at) = rest.filter(|at| at.registers.sp <= address_taken_before) {
            rest = self.walk(heap, at, limit, &mut address_taken, into);
        }
        let mut slots = 0;
        let visit = |slot: u64, meta| {
            slots += 1;
            self.shadow_types.visit_root(slot, meta, |object| {
                take(heap, object, into, &|| format!("the shadow stack's root at {slot:#x}"));
            })
        };
        // SAFETY: the stack of this thread.
        let end = unsafe { shadow_stack::visit(bounds::low(), registers.sp..bounds::end(), visit) };
        if end == ChainEnd::Gone {
            shadow_stack::stop_at_lost_frames();
        }
        heap.statistics.roots_walked += slots;
        self.leave_off(heap, rest, address_taken)
    }

    fn go_on(&mut self, heap: &mut Heap, frames: usize, into: &mut RootList) -> Headway {
        let Some(Rest { at, mut address_taken }) = self.rest.take() else { return Headway::Done };
        let here = 0_u64;
        let is_gone = std::mem::take(&mut self.program_ran)
            && diversion::waiting_sp().is_some_and(|sp| !self.leads_to(heap.context_mut(), sp));
        if is_gone {
            diversion::give_up();
        }
        let is_cut = is_gone || diversion::undo(&raw const here as u64) == Removal::Cut;
        // Where no compiled code runs, the program has ended, or the thread: all its frames are gone.
        if is_cut || anchor(heap.context_mut()).is_none() {
            return Headway::Cut;
        }
        self.refresh();
        let rest = self.walk(heap, at, frames, &mut address_taken, into);
        if rest.is_none() {
            diversion::lift_guard();
        }
        self.leave_off(heap, rest, address_taken)
    }

    fn has_rest(&self) -> bool {
        self.rest.is_some()
    }

    fn note_that_the_program_ran(&mut self) {
        self.program_ran = true;
    }

    fn has_plain_writes(&self) -> bool {
        registry::has_plain_writes()
    }

    fn mark_begins(&mut self) {
        root_metadata::mark_begins();
    }

    fn mark_ends(&mut self) {
        root_metadata::mark_ends();
    }

    fn units_walked(&self, heap: &Heap) -> u64 {
        let statistics = &heap.statistics;
        statistics.frames_walked + statistics.roots_walked + self.unwinder_steps.get() * FRAMES_PER_STEP
    }

    fn unwinder_steps(&self) -> u64 {
        self.unwinder_steps.get()
    }

    fn end(&self) -> u64 {
        bounds::end()
    }
}
