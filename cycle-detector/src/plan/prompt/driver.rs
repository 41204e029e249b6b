//! The heap's requests to its driver under the prompt plan: a round of trials, a mark, a visit of roots that other
//! frames may have written to.

use crate::plan::prompt::PromptDriver;
use crate::root_source::RootList;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::report::violation::Violation;

impl EpochDriver for PromptDriver {
    /// Does nothing: polls bring allocation to the driver.
    fn on_block_taken(&mut self, _heap: &mut Heap) {}

    fn on_poll(&mut self, heap: &mut Heap) {
        self.prompt_poll(heap);
    }

    fn collect(&mut self, heap: &mut Heap) -> u64 {
        self.stopped(heap, PromptDriver::prompt_mark)
    }

    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool {
        heap.statistics.slices += 1;
        self.stopped(heap, |driver, heap| driver.judge_cycles_for(heap, ns))
    }

    fn epoch(&mut self, heap: &mut Heap) {
        self.stopped(heap, PromptDriver::prompt_epoch);
    }

    fn protect_roots(&mut self, heap: &mut Heap) {
        let before = self.stack.units_walked(heap);
        let mut found = RootList::after(heap.prompt.protected.take_objects());
        self.stack.visit(heap, &mut found);
        heap.prompt.protected.put_back(found.into_objects());
        heap.note_address_taken_walk(self.stack.units_walked(heap) - before, self.stack.end());
    }

    /// Does nothing: every walk visits the whole stack, and no frame waits.
    fn frame_is_reached(&mut self, _heap: &mut Heap) {}

    /// Does nothing: counts are exact at all times, so there is no flip.
    fn flip(&mut self, _heap: &mut Heap) {}

    fn work(&mut self, heap: &mut Heap, units: i64) {
        self.stopped(heap, |driver, heap| {
            driver.stops.slice_units = (units - heap.large.leaving.give_back(units)) as u64;
            driver.stops.note_slice(heap);
        });
    }

    fn has_work(&self, heap: &Heap) -> bool {
        heap.large.leaving.blocks() != 0
    }

    fn verify(&mut self, heap: &mut Heap) -> Result<(), Violation> {
        super::verify::verify_beside(heap, &mut *self.stack)
    }

    fn last_report(&self) -> &EpochReport {
        &self.stops.last_report
    }
}
