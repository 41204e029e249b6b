//! A collection in slices: snapshot at the beginning, with the program running between two slices. `[BOUND]`
//!
//! ```text
//! Off ──► Arm ──► Forget ──► Discover ──► Judge ──► Sweep ──► Off
//!         bits    live       mark stack,  weak references,    large objects, blocks
//!         of the  bits       with what    finalizers,
//!         barrier            the barrier  ephemerons
//!             │              has shown
//!             └ snapshot, roots
//! ```
//!
//! The rules of bits and blocks are the heap's (`plan::trace::slices`), the marker is that of every collection. Before the dead are judged
//! it can be given up at any moment: nothing has been decided. That happens, and a collection that stops the program follows in
//! the same stop, when
//!
//! - a collection is asked for, which must find all that is garbage now, not at the snapshot;
//! - a module with plain stores was loaded, or
//! - there is no memory for the mark's stack.
//!
//! A slice comes when the program has had its turn (`account`), for its allocation. The pressure grows with what was allocated
//! since the snapshot, half of what makes a collection due at most.
//!
//! Not in slices: the roots. In a heap of the deferred plan only the newest frames of a deep stack are read at the snapshot, those below
//! in slices, or when the program comes back to one. `[WATERMARK]` If a jump has left frames that waited, the collection is given up.

use super::Tracer;
use super::judging::Judging;
use crate::account::Pressure;
use crate::collection_log::Kind;
use crate::plan::bump::mark_and_sweep::dead;
use crate::plan::bump::marker::Marker;
use crate::plan::bump::verify::verify;
use crate::root_source::{FRAMES_AT_FLIP, Headway, RootList, note_frames};
use crate::slice::{CHUNK_UNITS, OBJECTS_PER_STEP, Slice};
use std::time::Instant;
use tally_heap::Heap;
use tally_heap::memory::list::List;
use tally_heap::plan::bump::collection::Survivors;

/// The marker is part of it: no memory may be needed to begin a mark.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Off,
    Arm,
    Forget(Marker),
    Discover(Marker),
    Judge(Judging),
    Sweep(Survivors),
}

/// What an explicit collection in parts waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Explicit {
    /// None is asked for.
    #[default]
    No,
    /// The running one: its snapshot was taken before.
    Another,
    /// The running one is it.
    This,
}

/// A collection in slices.
#[derive(Debug, Default)]
pub(super) struct Sliced {
    stage: Stage,
    explicit: Explicit,
    /// Bytes allocated when it began, until the snapshot.
    began_at: u64,
    units: u64,
    /// Its sweep makes survivors young.
    makes_young: bool,
}

impl Sliced {
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.stage, Stage::Off)
    }
}

/// A program that asks all its weak references while a collection runs keeps what is dead alive, and the next collection is longer for it. So
/// the more of the heap it has asked for, the sooner the next slice comes.
fn pressure_of_upgrades(heap: &Heap) -> Pressure {
    Pressure::of(heap.trace.upgraded(), heap.room_for_upgrades())
}

impl Tracer {
    /// Whether a collection in slices is running.
    pub(in crate::plan) fn is_running(&self) -> bool {
        self.sliced.is_running()
    }

    /// Whether collections go in slices.
    pub(super) fn slices(&self, heap: &Heap) -> bool {
        (heap.options().pause_goal_ns.is_some() || self.is_of_deferred) && self.may_slice(heap)
    }

    /// Whether they could.
    pub(in crate::plan) fn may_slice(&self, heap: &Heap) -> bool {
        heap.has_a_stamp_for_slices() && !heap.options().stop_the_world && !self.stack.has_plain_writes()
    }

    /// Begins one, after which the heap may count.
    pub(in crate::plan) fn begin_last(&mut self, heap: &mut Heap) {
        self.begin_in_slices(heap);
        self.sliced.makes_young = true;
    }

    /// Begins one, unless it is running.
    pub(in crate::plan) fn begin_in_slices(&mut self, heap: &mut Heap) {
        if !self.sliced.is_running() {
            heap.begin_arming();
            self.sliced = Sliced { stage: Stage::Arm, began_at: heap.clock.given_bytes, ..Sliced::default() };
            self.update_poll(heap);
        }
    }

    /// A slice, if the program has had its turn.
    pub(super) fn pace_slices(&mut self, heap: &mut Heap) {
        let pressure = self.pressure(heap);
        // Slices of a fixed number of units come with each block, which is what pays for them.
        if heap.options().slice_units.is_none() {
            heap.clock.hand_out_in_parts(pressure == Pressure::FULL);
        }
        if self.stops.program_had_its_turn(heap, heap.clock.given_bytes, pressure) {
            self.slice_as_the_heap_says(heap);
        }
    }

    /// The same at a poll.
    pub(super) fn poll_slices(&mut self, heap: &mut Heap) {
        let pressure = self.pressure(heap);
        if self.stops.had_its_turn_at_poll(heap, heap.clock.given_bytes, pressure) {
            self.slice_as_the_heap_says(heap);
        }
    }

    /// How much was allocated since the collection began, of half of what is allocated from one to the next.
    fn pressure(&self, heap: &Heap) -> Pressure {
        let began_at = if matches!(self.sliced.stage, Stage::Arm) { self.sliced.began_at } else { 0 };
        let allocated = heap.clock.given_bytes.saturating_sub(began_at);
        Pressure::of(allocated, self.growth.due_at(heap) / 2).max(pressure_of_upgrades(heap))
    }

    /// A stop of the program for a slice.
    pub(super) fn slice_as_the_heap_says(&mut self, heap: &mut Heap) {
        self.stopped(heap, |driver, heap| {
            let slice = Slice::of_heap(heap.options(), i64::MAX);
            driver.slice(heap, slice);
        });
    }

    /// Polls bring the program to the driver under zeal, for finalizers, and while a collection runs.
    pub(in crate::plan) fn update_poll(&self, heap: &mut Heap) {
        let waits = heap.zeal.is_some() || heap.services.finalizers.are_ready();
        heap.set_poll(waits || self.sliced.is_running());
        if !self.sliced.is_running() {
            heap.clock.hand_out_whole();
        }
    }

    /// Works until the slice has ended, or all is done.
    pub(super) fn slice(&mut self, heap: &mut Heap, mut slice: Slice) {
        let start = Instant::now();
        heap.statistics.slices += 1;
        self.stops.slice_units = 0;
        if !self.may_slice(heap) {
            match self.sliced.stage {
                Stage::Judge(_) => self.finish_judging(heap),
                Stage::Sweep(_) => {}
                _ => self.collect_instead(heap),
            }
        }
        while self.sliced.is_running() && !slice.ends() {
            let spent = self.step_of_slices(heap, slice.chunk());
            self.stops.slice_units += spent as u64;
            self.sliced.units += spent as u64;
            slice.spend(spent);
        }
        heap.statistics.mark_ns += start.elapsed().as_nanos() as u64;
        self.stops.note_slice(heap);
    }

    /// Works for about `ns` nanoseconds at a collection that begins with the first of these calls; true when that is done.
    pub(super) fn step_for(&mut self, heap: &mut Heap, ns: u64) -> bool {
        if !self.may_slice(heap) {
            self.settle(heap);
            self.collect_now(heap);
            return true;
        }
        if self.sliced.explicit == Explicit::No {
            let runs = self.sliced.is_running();
            self.begin_in_slices(heap);
            self.sliced.explicit = if runs { Explicit::Another } else { Explicit::This };
        }
        let slice = Slice::of_time(heap.options().slice_units.map_or(i64::MAX, i64::from), ns);
        self.slice(heap, slice);
        if self.sliced.is_running() {
            return false;
        }
        if self.sliced.explicit == Explicit::Another {
            self.begin_in_slices(heap);
            self.sliced.explicit = Explicit::This;
            return false;
        }
        self.sliced.explicit = Explicit::No;
        true
    }

    /// Under zeal: a slice, or the first of another collection. What was done is verified when one has ended.
    pub(super) fn zeal_slice(&mut self, heap: &mut Heap) {
        self.begin_in_slices(heap);
        let units = heap.options().slice_units.map_or(OBJECTS_PER_STEP as i64, i64::from);
        self.slice(heap, Slice::of_units(units));
        if !self.sliced.is_running()
            && let Err(violation) = verify(heap)
        {
            heap.violation(violation.invariant, &violation.what);
        }
    }

    /// No collection is running afterwards: it is given up, or brought to its end if the dead are known.
    pub(super) fn settle(&mut self, heap: &mut Heap) {
        self.leave_rest(heap);
        let explicit = self.sliced.explicit;
        match std::mem::take(&mut self.sliced.stage) {
            Stage::Off => {}
            Stage::Arm => heap.abandon_slices(Survivors::default()),
            Stage::Forget(mut marker) | Stage::Discover(mut marker) => {
                heap.abandon_slices(*marker.survivors());
                heap.statistics.mark_units += self.sliced.units;
            }
            Stage::Judge(judging) => {
                self.sliced.stage = Stage::Judge(judging);
                self.finish_judging(heap);
                return self.settle(heap);
            }
            Stage::Sweep(mut survivors) => {
                while heap.sweep_some(&mut survivors).is_some() {}
                self.end_slices(heap, survivors);
            }
        }
        self.sliced = Sliced { explicit, ..Sliced::default() };
    }

    /// The next step of an explicit collection begins another.
    pub(super) fn forget_steps(&mut self) {
        self.sliced.explicit = Explicit::No;
    }

    fn finish_judging(&mut self, heap: &mut Heap) {
        while matches!(self.sliced.stage, Stage::Judge(_)) {
            self.sliced.units += self.step_of_slices(heap, i64::MAX / 2) as u64;
        }
    }

    fn collect_instead(&mut self, heap: &mut Heap) {
        self.settle(heap);
        self.collect_now(heap);
        if self.sliced.explicit == Explicit::Another {
            self.sliced.explicit = Explicit::This;
        }
    }

    /// Visits some of the frames that the snapshot has left for later, and shows what they hold. Returns what that cost.
    pub(super) fn walk_on(&mut self, heap: &mut Heap) -> i64 {
        let mut roots = RootList::after(std::mem::take(&mut self.roots));
        let (before, walked) = (heap.statistics.frames_walked, self.stack.units_walked(heap));
        let headway = self.stack.go_on(heap, CHUNK_UNITS as usize, &mut roots);
        note_frames(heap, before);
        self.roots = roots.into_objects();
        self.stops.report.roots += self.roots.len() as u64;
        let units = 1 + self.stack.units_walked(heap) - walked + self.roots.len() as u64;
        while let Some(root) = self.roots.pop() {
            heap.show_root(root);
        }
        if headway == Headway::Cut {
            // Another collection follows in the next slice; here the program may hold what no frame shows.
            heap.lose_what_was_shown();
        }
        units as i64
    }

    /// No frame waits any more, and what they hold does not matter.
    pub(in crate::plan) fn leave_rest(&mut self, heap: &mut Heap) {
        while self.stack.has_rest() {
            _ = self.stack.go_on(heap, usize::MAX, &mut RootList::after(List::new()));
        }
    }

    /// About `units` of work; returns the units.
    fn step_of_slices(&mut self, heap: &mut Heap, units: i64) -> i64 {
        match &mut self.sliced.stage {
            Stage::Off => 0,
            Stage::Arm => some_of(units, || heap.arm_some()).unwrap_or_else(|| self.take_snapshot(heap)),
            Stage::Forget(_) | Stage::Discover(_) if self.stack.has_rest() => self.walk_on(heap),
            Stage::Forget(_) => some_of(units, || heap.forget_some()).unwrap_or_else(|| {
                if let Stage::Forget(marker) = std::mem::take(&mut self.sliced.stage) {
                    self.sliced.stage = Stage::Discover(marker);
                }
                1
            }),
            Stage::Discover(marker) => {
                let before = marker.units;
                marker.begin_slice(heap, Slice::of_units(units));
                let has_all = marker.finish(heap);
                let spent = marker.units - before;
                marker.end_slice(heap);
                let is_lost = marker.has_forgotten() || heap.has_lost_what_was_shown();
                match (is_lost, has_all) {
                    (true, _) => self.collect_instead(heap),
                    (false, true) => {
                        if let Stage::Discover(marker) = std::mem::take(&mut self.sliced.stage) {
                            self.sliced.stage = Stage::Judge(Judging::begin(heap, marker));
                        }
                    }
                    (false, false) => {}
                }
                1 + spent as i64
            }
            Stage::Judge(judging) => {
                judging.marker.begin_searching_slice(heap, Slice::of_units(units));
                let done = some_of(units, || judging.advance(heap, units));
                judging.marker.end_slice(heap);
                done.unwrap_or_else(|| {
                    self.begin_sweep(heap);
                    1
                })
            }
            Stage::Sweep(survivors) => match some_of(units, || heap.sweep_some(survivors)) {
                Some(spent) => spent,
                None => {
                    let survivors = *survivors;
                    self.end_slices(heap, survivors);
                    1
                }
            },
        }
    }

    /// The roots are read in this stop, and survive with all that they reach.
    fn take_snapshot(&mut self, heap: &mut Heap) -> i64 {
        heap.inspect();
        self.stack.lay_down(heap);
        heap.take_snapshot();
        self.stops.open_report(heap, Kind::Collection);
        let frames = if self.is_of_deferred { FRAMES_AT_FLIP } else { usize::MAX };
        let walked = self.take_roots(heap, frames);
        self.stops.report.roots = self.roots.len() as u64;
        heap.for_each_held(|held| self.roots.push(held));
        let units = walked + self.roots.len() as u64;
        let mut marker = Marker::of(heap, Slice::default());
        while let Some(root) = self.roots.pop() {
            marker.show(heap, root);
        }
        marker.end_slice(heap);
        self.sliced.stage = Stage::Forget(marker);
        1 + units as i64
    }

    /// The dead are judged.
    fn begin_sweep(&mut self, heap: &mut Heap) {
        let Stage::Judge(judging) = std::mem::take(&mut self.sliced.stage) else { return };
        heap.note_cycles_of_sample(dead(heap));
        let survivors = judging.marker.end(heap);
        heap.end_marking();
        if self.sliced.makes_young {
            heap.make_survivors_young();
        }
        heap.release_finalizers();
        self.growth.note_dead_that_wait(heap);
        self.sliced.stage = Stage::Sweep(survivors);
    }

    fn end_slices(&mut self, heap: &mut Heap, survivors: Survivors) {
        let freed = heap.end_slices(survivors);
        let units = self.sliced.units;
        (self.sliced.stage, self.sliced.makes_young) = (Stage::Off, false);
        self.note_collection(heap, freed, units);
    }
}

/// Does steps of `work` until they have cost `units`. Returns what they have cost; `None` when there was none.
fn some_of(units: i64, mut work: impl FnMut() -> Option<i64>) -> Option<i64> {
    let mut spent = work()?;
    while spent < units
        && let Some(more) = work()
    {
        spent += more;
    }
    Some(spent)
}
