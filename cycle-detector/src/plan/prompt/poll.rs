//! What is done at a poll and at an epoch of the prompt plan: a round, a batch, a slice of the mark.
//!
//! A round begins with a look at the roots (`root_snapshot`), and closes a report, as an epoch does under the deferred plan.

use crate::account::Pressure;
use crate::collection_log::Kind;
use crate::plan::prompt::PromptDriver;
use crate::plan::prompt::garbage_cap::Haste;
use crate::plan::prompt::levels::{LEVELS, SLICED_LEVELS};
use crate::plan::prompt::round::AT_ONCE;
use crate::progress::Progress;
use crate::sample::PAYS;
use crate::slice::{SLICE_UNITS, Slice};
use std::time::Instant;
use tally_heap::memory::list::List;
use tally_heap::plan::prompt::FIRST_ROUND;
use tally_heap::{Heap, ObjectRef};

/// Candidates between two rounds are at most as many as a round tries; in a large heap, one for so many bytes in use.
const BYTES_PER_CANDIDATE: u64 = 512;

impl PromptDriver {
    /// At a poll: a round, if one is due, or a slice of the mark that runs, if the program had its turn since the last. While
    /// a backlog is young, rounds wait for the program, too, and take turns with the mark: else what that has proved dead
    /// would stay until all of the backlog is judged.
    pub(crate) fn prompt_poll(&mut self, heap: &mut Heap) {
        let mark_runs = self.sliced_mark.is_running();
        let rounds_wait = mark_runs && self.progress == Progress::Mark;
        let piled = heap.marks_in_slices() && heap.prompt.cells.nursery.is_backlog();
        let marks_turn = piled && mark_runs && self.sliced_mark.is_next;
        let haste = if mark_runs { self.counted_marks.cap.haste(heap) } else { Haste::None };
        if rounds_wait || self.sliced_mark.proves() || marks_turn || haste == Haste::Much || !heap.round_is_due() {
            if mark_runs && (haste != Haste::None || self.program_had_its_turn(heap)) {
                self.sliced_mark.is_next = false;
                self.stopped(heap, PromptDriver::sliced_mark_slice);
                while self.sliced_mark.is_running() && self.counted_marks.cap.haste(heap) == Haste::Much {
                    self.stopped(heap, PromptDriver::sliced_mark_slice);
                }
                if self.counted_marks.unproved.asks_for_stop() && !self.sliced_mark.is_running() {
                    self.stopped(heap, |driver, heap| _ = driver.prompt_mark(heap));
                }
            }
            if heap.options().eager_marks && heap.marks_in_slices() {
                self.start_sliced_mark(heap);
            }
            return;
        }
        if piled && !self.program_had_its_turn(heap) {
            return;
        }
        self.sliced_mark.is_next = true;
        self.stopped(heap, |driver, heap| {
            driver.prompt_round(heap, false);
            if !driver.sliced_mark.is_running() && driver.counted_mark_is_due(heap) {
                match heap.marks_in_slices() {
                    true => driver.start_sliced_mark(heap),
                    false => _ = driver.prompt_mark(heap),
                }
            }
        });
    }

    fn program_had_its_turn(&self, heap: &Heap) -> bool {
        self.stops.had_its_turn_at_poll(heap, heap.counted_allocated_bytes(), Pressure::NONE)
    }

    /// Every candidate is tried, without bounds; under zeal when that is due.
    pub(crate) fn prompt_epoch(&mut self, heap: &mut Heap) {
        self.finish_sliced_mark(heap);
        let looks = heap.options().zeal_looks;
        if heap.zeal.as_mut().is_none_or(|zeal| zeal.round_is_due(looks)) {
            let before = units_of_rounds(heap);
            self.prompt_round(heap, true);
            let units = units_of_rounds(heap) - before;
            heap.zeal.iter_mut().for_each(|zeal| zeal.note_round(units));
        }
        if heap.zeal.is_some() {
            if heap.zeal.as_mut().is_some_and(|zeal| zeal.mark_is_due(looks)) {
                self.prompt_mark(heap);
            }
            let in_flight = heap.prompt.protected.len() as u64;
            let looks = heap.zeal.as_ref().is_some_and(|zeal| zeal.looks());
            if !looks || !heap.services.finalizers.queue.is_empty() {
                self.left_behind.recount_is_skipped();
            } else if let Err(violation) = self.verify_running(heap, in_flight) {
                heap.violation(violation.invariant, &violation.what);
            }
        }
    }

    pub(crate) fn prompt_round(&mut self, heap: &mut Heap, unbounded: bool) {
        let start = Instant::now();
        self.open_round(heap, Kind::Round);
        self.find_held(heap);
        let protected = hold_protected(heap);
        self.trials.unbounded = unbounded;
        let mut freed = self.batch_round(heap, unbounded);
        let judges = unbounded || self.trials.are_due(heap);
        if judges {
            self.held.set_marks(true);
            let bounded = heap.marks_in_slices() && !unbounded;
            self.trials.slice = if bounded { trial_slice(heap, start) } else { Slice::default() };
            self.trials.levels = if bounded { SLICED_LEVELS } else { LEVELS.len() };
            freed += self.trial_rounds(heap, unbounded);
            self.held.set_marks(false);
        }
        let noted = self.held.note(heap);
        heap.prompt.round_at = match judges {
            // The others have their turn with the next batch, if not before.
            true if self.trials.slice.has_ended() => heap.candidates.len() + FIRST_ROUND.max(self.held.gap()),
            true => heap.candidates.len() + self.round_gap.max(FIRST_ROUND).max(self.held.gap()),
            false => heap.prompt.round_at + noted,
        };
        release_protected(heap, protected);
        heap.statistics.cyclic_garbage_objects += freed;
        heap.prompt.candidates_elsewhere = self.trials.waiting() + self.trials.left_over();
        self.close_round(heap);
    }

    fn trial_rounds(&mut self, heap: &mut Heap, unbounded: bool) -> u64 {
        let full = heap.candidates.len() >= heap.prompt.round_at;
        let (before, mut freed) = (heap.statistics.trial_edges, 0);
        loop {
            let more = self.trials.round(heap, &mut self.stops.report, unbounded);
            freed += more;
            // An object that lost a reference from a dead ring may be part of another.
            if !unbounded || more == 0 {
                break;
            }
        }
        let edges = heap.statistics.trial_edges - before;
        // Rounds that free little come less often.
        let gap_max = AT_ONCE.max((heap.kept_bytes() / BYTES_PER_CANDIDATE) as usize);
        let gap = &mut self.round_gap;
        if unbounded || freed * PAYS >= edges {
            *gap = (*gap / 8).max(FIRST_ROUND);
        } else if full {
            *gap = (*gap * 2).clamp(FIRST_ROUND, gap_max);
        }
        freed
    }

    fn batch_round(&mut self, heap: &mut Heap, always: bool) -> u64 {
        let judged = self.batch.judge(heap, &mut self.trials, always);
        heap.statistics.trial_edges += judged.edges;
        self.stops.report.freed_by_trial += judged.freed;
        judged.freed
    }

    /// Young objects are judged together: all that are left are grown up. Stacks that have run are laid down first: a mark in slices
    /// that did so when it looks at the roots would take their images for objects that the program has made since.
    pub(crate) fn judge_all_young(&mut self, heap: &mut Heap) {
        self.stack.lay_down(heap);
        let protected = hold_protected(heap);
        let freed = self.batch_round(heap, true);
        release_protected(heap, protected);
        heap.statistics.cyclic_garbage_objects += freed;
        heap.prompt.candidates_elsewhere = self.trials.waiting() + self.trials.left_over();
    }

    pub(crate) fn open_round(&mut self, heap: &mut Heap, kind: Kind) {
        heap.clock.epoch = heap.clock.epoch.wrapping_add(1);
        heap.statistics.epochs += 1;
        self.stops.open_report(heap, kind);
        heap.clock.given_bytes = 0;
    }

    pub(crate) fn close_round(&mut self, heap: &mut Heap) {
        self.stops.close_report(heap);
    }
}

/// References that trials have followed, and frames and slots that were walked for them.
fn units_of_rounds(heap: &Heap) -> u64 {
    heap.statistics.trial_edges + heap.statistics.frames_walked + heap.statistics.roots_walked
}

/// The bounds of the trials of a round that began at `start`, with its batch: however long that took, they have a chunk.
fn trial_slice(heap: &Heap, start: Instant) -> Slice {
    match heap.options().slice_units {
        Some(units) => Slice::of_units(units.into()),
        None => {
            let (ns, spent) = (heap.options().slice_ns, start.elapsed().as_nanos() as u64);
            Slice::of_time(SLICE_UNITS, ns.saturating_sub(spent))
        }
    }
}

/// Protected objects are held from outside although no count says so.
fn hold_protected(heap: &mut Heap) -> List<ObjectRef> {
    let held: List<ObjectRef> = heap
        .prompt
        .protected
        .iter()
        .copied()
        .filter(|object| object.exact_count() != 0 && !object.is_stuck())
        .collect();
    held.iter().for_each(|object| object.increment_exact());
    held
}

/// The dead may have held the last reference to a protected object: it is pending then. `[PENDING]`
fn release_protected(heap: &mut Heap, held: List<ObjectRef>) {
    held.into_iter().for_each(|object| heap.decrement_root(object));
}
