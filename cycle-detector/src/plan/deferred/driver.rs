//! The heap's requests to its driver under the deferred plan: a slice, an epoch, a collection.

use crate::plan::bump::tracer::Tracer;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::step::values_wait_for_a_flip;
use tally_heap::Heap;
use tally_heap::epoch_driver::EpochDriver;
use tally_heap::plan::Rules;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::report::violation::Violation;

impl DeferredDriver {
    /// Whether any work is left to do before the next flip.
    pub fn has_work(&self, heap: &Heap) -> bool {
        self.judges(heap) || heap.large.leaving.blocks() != 0
    }

    /// Whether some objects are still undecided, or dead but not freed. The memory of large ones may still be on its
    /// way back to the system.
    pub(crate) fn judges(&self, heap: &Heap) -> bool {
        self.phase != Phase::Idle || self.mark.is_running() || self.has_deaths(heap)
    }

    /// Whether dead objects wait for their children to be released, or blocks for their sweep.
    pub(crate) fn has_deaths(&self, heap: &Heap) -> bool {
        self.has_dying(heap) || heap.bump.blocks.has_freed_into()
    }

    /// Whether dead objects wait for their children to be released, or to be found.
    pub(crate) fn has_dying(&self, heap: &Heap) -> bool {
        let uncommon = !self.dying_large.is_empty() || self.dying_special.is_some() || !self.company.is_empty();
        !heap.deferred.free_queue.is_empty() || uncommon
    }

    /// Runs pending work to its end.
    pub fn finish(&mut self, heap: &mut Heap) {
        while self.has_work(heap) {
            self.work(heap, i64::MAX / 2);
        }
        heap.set_poll(heap.zeal.is_some() || heap.services.finalizers.are_ready());
    }

    /// Flips and runs the passes of the flip to their end; a running mark is left where it is.
    pub(crate) fn run_epoch(&mut self, heap: &mut Heap) {
        heap.inspect();
        while self.phase != Phase::Idle {
            self.work(heap, i64::MAX / 2);
        }
        self.flip(heap);
        self.run_passes(heap);
        if heap.zeal.is_some() {
            self.end_zeal_epoch(heap);
        }
    }

    /// Runs the passes of the last flip, and the deaths they cause, to their end.
    pub(crate) fn run_passes(&mut self, heap: &mut Heap) {
        while self.phase != Phase::Idle || self.has_deaths(heap) {
            self.work(heap, i64::MAX / 2);
        }
    }

    /// Ends an epoch of zeal. Zeal marks now and then, so that garbage that trials leave over is found and poisoned
    /// too, and verifies where it looked.
    fn end_zeal_epoch(&mut self, heap: &mut Heap) {
        let looks = heap.options().zeal_looks;
        if heap.zeal.as_mut().is_some_and(|zeal| zeal.mark_is_due(looks)) && !self.mark.is_running() {
            self.start_mark(heap);
            self.finish(heap);
        }
        heap.set_poll(true);
        if heap.zeal.as_ref().is_some_and(|zeal| zeal.looks())
            && let Err(violation) = self.verify_quiet(heap)
        {
            heap.violation(violation.invariant, &violation.what);
        }
    }

    /// Collects all unreachable objects. Returns the number of objects that died.
    pub fn collect_all(&mut self, heap: &mut Heap) -> u64 {
        let before = heap.statistics.freed_objects();
        if heap.marks_instead_of_counting() {
            let freed = self.collect_by_mark(heap);
            heap.give_all_back();
            return freed;
        }
        // A full collection costs time in the size of the heap in any case.
        heap.zeal.iter_mut().for_each(|zeal| zeal.look_soon());
        self.finish(heap);
        self.run_epoch(heap);
        if values_wait_for_a_flip(heap) {
            self.finish(heap);
            self.run_epoch(heap);
        }
        // A mark that the epoch's end has started sees the same roots.
        if !self.mark.is_running() {
            self.start_mark(heap);
        }
        self.finish(heap);
        // Objects that a log named, and the roots of the first flip, are released at the next.
        self.run_epoch(heap);
        self.finish(heap);
        heap.give_all_back();
        heap.freed_since(before)
    }
}

impl EpochDriver for DeferredDriver {
    fn on_block_taken(&mut self, heap: &mut Heap) {
        match heap.rules() {
            Rules::Counting => self.pace_allocation(heap),
            Rules::Marking => self.pace_marking(heap),
            Rules::Tracing => self.pace_tracing(heap),
        }
    }

    fn on_poll(&mut self, heap: &mut Heap) {
        match heap.rules() {
            Rules::Counting => self.pace_poll(heap),
            Rules::Marking => self.poll_marking(heap),
            Rules::Tracing => self.trace(heap, Tracer::on_poll),
        }
    }

    fn collect(&mut self, heap: &mut Heap) -> u64 {
        match self.rules_of_request(heap) {
            Rules::Counting | Rules::Marking => self.stopped(heap, DeferredDriver::collect_all),
            Rules::Tracing => self.trace_all(heap, Tracer::collect),
        }
    }

    fn step(&mut self, heap: &mut Heap, ns: u64) -> bool {
        let ended = match heap.rules() {
            Rules::Counting => self.stopped(heap, |driver, heap| driver.step_for(heap, ns)),
            Rules::Marking => self.stopped(heap, |driver, heap| driver.step_by_mark(heap, ns)),
            Rules::Tracing => return self.trace(heap, |tracer, heap| tracer.step(heap, ns)),
        };
        heap.statistics.slices += 1;
        self.update_poll(heap);
        ended
    }

    fn epoch(&mut self, heap: &mut Heap) {
        match self.rules_of_request(heap) {
            Rules::Counting => self.stopped(heap, DeferredDriver::run_epoch),
            Rules::Marking => _ = self.stopped(heap, DeferredDriver::collect_by_mark),
            Rules::Tracing => self.trace_all(heap, Tracer::epoch),
        }
    }

    /// Does nothing: flips find the roots.
    fn protect_roots(&mut self, _heap: &mut Heap) {}

    fn frame_is_reached(&mut self, heap: &mut Heap) {
        match heap.rules() {
            Rules::Counting | Rules::Marking => DeferredDriver::frame_is_reached(self, heap),
            Rules::Tracing => self.tracer.frame_is_reached(heap),
        }
    }

    fn flip(&mut self, heap: &mut Heap) {
        match heap.rules() {
            Rules::Counting => self.flip_now(heap),
            Rules::Marking => self.collect_or_count(heap),
            Rules::Tracing => self.trace(heap, Tracer::flip),
        }
    }

    fn work(&mut self, heap: &mut Heap, units: i64) {
        match heap.rules() {
            Rules::Counting | Rules::Marking => self.stopped(heap, |driver, heap| driver.work_slice(heap, units)),
            Rules::Tracing => self.trace(heap, |tracer, heap| tracer.work(heap, units)),
        }
    }

    fn has_work(&self, heap: &Heap) -> bool {
        match heap.rules() {
            Rules::Counting | Rules::Marking => DeferredDriver::has_work(self, heap),
            Rules::Tracing => self.tracer.has_work(heap),
        }
    }

    fn verify(&mut self, heap: &mut Heap) -> Result<(), Violation> {
        match heap.rules() {
            Rules::Counting => self.verify_quiet(heap),
            Rules::Marking => crate::plan::bump::verify::verify(heap),
            Rules::Tracing => self.tracer.verify(heap),
        }
    }

    fn last_report(&self) -> &EpochReport {
        &self.tracer.stops.last_report
    }
}
