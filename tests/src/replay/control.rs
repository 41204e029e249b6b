//! Safepoints, and the program's control of its collector: to stop, to work in parts, to fail.
//!
//! Each op that may run finalizers ends in [`Replay::after_work`], which applies their effects to the model.

use super::Replay;
use crate::heap_under_test::{HeapUnderTest, Refusal};
use crate::model_heap::Id;
use crate::shape::Kind;

/// The present settings of the collector.
#[derive(Debug, Default)]
pub(super) struct Control {
    /// It is stopped.
    pub(super) stopped: bool,
    /// The number of objects freed at the last explicit request to the collector.
    freed: u64,
    /// The allocation that must fail.
    failing: Option<Failing>,
    /// Objects that have been allocated, as far as they can be counted from here.
    births: u64,
    /// Weak maps allocate entries of their own.
    births_are_unknown: bool,
    /// The objects that were unreachable when the first part of a collection was done.
    garbage_of_parts: Option<Vec<Id>>,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    left: u64,
    /// Only the driver has allocated since.
    exact: bool,
}

impl Control {
    /// Notes allocations outside the driver, by number; `None`: the number is not known.
    pub(super) fn note_births(&mut self, count: Option<u64>) {
        self.births += count.unwrap_or(0);
        self.births_are_unknown |= count.is_none();
        if let Some(failing) = &mut self.failing {
            failing.exact = false;
        }
    }

    /// Notes that a garbage object is reachable again, or may be.
    pub(super) fn note_resurrection(&mut self) {
        self.garbage_of_parts = None;
    }
}

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Polls; while the collector is stopped, nothing may die at a poll.
    pub(super) fn poll(&mut self) -> Result<(), String> {
        self.heap.poll();
        if !self.control.stopped {
            return self.events();
        }
        let (ran, freed) = (self.events_pending()?, self.heap.totals().freed_objects);
        if ran || freed != self.control.freed {
            let before = self.control.freed;
            return Err(format!(
                "the collector is stopped, but a poll has run finalizers ({ran}) or freed ({before} → {freed})"
            ));
        }
        Ok(())
    }

    /// Applies the effects of work that may have run finalizers, or was requested explicitly.
    pub(super) fn after_work(&mut self) -> Result<(), String> {
        self.events()?;
        if self.control.stopped {
            self.control.freed = self.heap.totals().freed_objects;
        }
        Ok(())
    }

    /// Collects fully; several times if finalizers register objects anew, since one collection gives those only ten
    /// rounds.
    pub(super) fn collect(&mut self) -> Result<(), String> {
        loop {
            let again = self.finalizing.registered_anew;
            self.heap.collect();
            self.after_work()?;
            if self.finalizing.registered_anew == again {
                return Ok(());
            }
        }
    }

    /// The result of an allocation: the address, or `None` if it may have failed.
    pub(super) fn after_allocation(
        &mut self,
        allocated: Result<u64, Refusal>,
        kind: Kind,
        length: u64,
    ) -> Result<Option<u64>, String> {
        self.finalizing.ran_in_this_op = false;
        self.after_work()?;
        // A heap at its limit, or before a failure that was set, collects first.
        self.finalizing.collected_inside |= self.heap_limit.is_some() || allocated.is_err();
        let failing = self.control.failing.take();
        let later = failing.map(|failing| Failing { left: failing.left.saturating_sub(1).max(1), ..failing });
        match (allocated, failing) {
            (Ok(_), Some(Failing { left: 1, exact: true })) => Err("this allocation was to fail, and has not".into()),
            (Ok(address), _) => {
                self.control.births += 1;
                self.control.failing = later;
                Ok(Some(address))
            }
            (Err(refusal), _) if !refusal.asked_for => {
                self.control.failing = later;
                self.out_of_memory(kind, length, &refusal).map(|()| None)
            }
            (Err(_), Some(Failing { left, exact })) if left == 1 || !exact => Ok(None),
            (Err(refusal), _) => Err(format!("another allocation was to fail, or none: {refusal}")),
        }
    }

    /// An allocation of a finalizer has failed: because one had to fail, after a collection as anywhere, or without
    /// memory, and then another must still fail.
    pub(super) fn allocation_inside_failed(&mut self) -> Result<(), String> {
        let failing = self.control.failing.take();
        self.finalizing.collected_inside |= failing.is_some();
        if self.heap_limit.is_some() {
            self.control.failing = failing.map(|failing| Failing { exact: false, ..failing });
        }
        match (failing, self.heap_limit) {
            (None, None) => Err("a finalizer was refused a pair, and memory has no limit".into()),
            _ => Ok(()),
        }
    }

    pub(super) fn compare_births(&self, allocated: u64) -> Result<(), String> {
        let births = self.control.births;
        if !self.control.births_are_unknown && births != allocated {
            return Err(format!("{births} objects were allocated, and the statistics say {allocated}"));
        }
        Ok(())
    }

    pub(super) fn stop(&mut self) {
        self.heap.stop();
        self.control.stopped = true;
        self.control.freed = self.heap.totals().freed_objects;
    }

    pub(super) fn restart(&mut self) {
        self.heap.restart();
        self.control.stopped = false;
    }

    pub(super) fn limit(&mut self, kib: u32) {
        self.heap_limit = (kib != 0).then(|| u64::from(kib) << 10);
        self.heap.set_limit(self.heap_limit);
    }

    pub(super) fn fail(&mut self, number: u32) {
        self.heap.fail_allocation(u64::from(number));
        self.control.failing = (number != 0).then_some(Failing { left: u64::from(number), exact: true });
    }

    /// Removes limits, and restarts the collector.
    pub(super) fn go_on_as_usual(&mut self) {
        self.restart();
        self.limit(0);
        self.fail(0);
    }

    /// Does a part of a collection. When it is complete, no object is left that was unreachable at the first part,
    /// unless one was brought back meanwhile.
    pub(super) fn part(&mut self) -> Result<(), String> {
        if self.control.garbage_of_parts.is_none() && self.finalizing.idle_parts() {
            let reachable = self.model.reachable();
            let garbage = self.model.known().filter(|id| !reachable[*id as usize]).collect();
            self.control.garbage_of_parts = Some(garbage);
        }
        let finalized = self.summary.finalized;
        let complete = self.heap.part();
        self.finalizing.collected_inside = true;
        self.finalizing.in_parts = !complete;
        self.after_work()?;
        if !complete {
            return Ok(());
        }
        let Some(garbage) = self.control.garbage_of_parts.take() else { return Ok(()) };
        if finalized != self.summary.finalized
            || !self.heap.parts_find_all()
            || self.heap.has_frames_for_want_of_memory()
        {
            return Ok(());
        }
        let live = self.heap.live_objects();
        let left = |id: &&Id| {
            let address = self.addresses[**id as usize];
            self.newest_at.get(&address) == Some(*id) && live.contains(&address)
        };
        match garbage.iter().find(left) {
            None => Ok(()),
            Some(id) => {
                Err(format!("{} was unreachable when a collection in parts began, and is left", self.describe(*id)))
            }
        }
    }
}
