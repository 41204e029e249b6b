//! Whether all that lives could be marked within the bound.
//!
//! A mark says how long it may be only by being done; one that is given up was in vain. So a heap that counts marks again when
//! what it knows to live would take half of the bound at most, and after the next mark that is given up it waits for twice
//! as many flips.

use super::{Marking, PATIENCE};
use crate::plan::bump::growth::Growth;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::slice::CHUNK_UNITS;
use tally_heap::Heap;
use tally_heap::heap::LAST_EPOCH;

/// And at most.
const PATIENCE_MAX: u32 = 32 * PATIENCE;
/// Units of a mark that say what a unit costs.
const TELLING: u64 = 4 * CHUNK_UNITS as u64;

impl Default for Marking {
    fn default() -> Self {
        Marking {
            growth: Growth::default(),
            ns_per_unit: 10.0,
            units_per_object: 4.0,
            wait: PATIENCE,
            patience: PATIENCE,
        }
    }
}

impl Marking {
    /// Takes a mark of so many units into the prediction. It has left so many `objects`, or was given up.
    pub(super) fn learn(&mut self, units: u64, ns: u64, objects: Option<u64>) {
        if units >= TELLING {
            let measured = (ns as f64 / units as f64).clamp(1.0, 100.0);
            self.ns_per_unit += (measured - self.ns_per_unit) / 4.0;
            if let Some(objects) = objects.filter(|&objects| objects >= TELLING) {
                let measured = (units as f64 / objects as f64).clamp(2.0, 64.0);
                self.units_per_object += (measured - self.units_per_object) / 4.0;
            }
        }
    }

    /// A mark was given up: the heap counts.
    pub(in crate::plan::deferred) fn note_given_up(&mut self) {
        self.wait = self.patience;
        self.patience = (2 * self.patience).min(PATIENCE_MAX);
    }

    /// A flip, or a collection of a heap that traces: whether the heap may mark again in one stop, if it is small.
    pub(in crate::plan::deferred) fn may_again(&mut self) -> bool {
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }

    /// Whether so many objects could be marked in half of the bound.
    fn suffices_for(&self, heap: &Heap, objects: u64) -> bool {
        self.suffices_for_units(heap, objects as f64 * self.units_per_object)
    }

    /// Whether a mark of so many units could.
    pub(in crate::plan::deferred) fn suffices_for_units(&self, heap: &Heap, units: f64) -> bool {
        let options = heap.options();
        match options.slice_units {
            Some(_) => units <= options.mark_bound_units() as f64 / 2.0,
            None => units * self.ns_per_unit <= options.mark_bound_ns() as f64 / 2.0,
        }
    }
}

impl DeferredDriver {
    /// At a flip that is due: whether the heap marks again instead.
    pub(in crate::plan::deferred) fn marks_again(&mut self, heap: &Heap) -> bool {
        // A heap that marks cannot start over with its stamps: all its objects are young, and have them.
        if heap.clock.epoch >= LAST_EPOCH
            || heap.options().mark_ns == 0
            || heap.zeal.is_some()
            || self.phase != Phase::Idle
        {
            return false;
        }
        let may = self.marking.may_again();
        let promoted = self.tracer.stops.last_report.promoted;
        let finalizers = &heap.services.finalizers;
        let calls_none = finalizers.depth() == 0 && !finalizers.has_chain();
        let is_quiet = !self.judges(heap) && !self.tracer.stack.has_rest() && calls_none;
        is_quiet && may && self.marking.suffices_for(heap, heap.statistics.live_objects + promoted)
    }
}
