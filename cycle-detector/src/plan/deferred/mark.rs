//! The backup mark: what local trials cannot decide.
//!
//! Snapshot-at-the-beginning from the roots of the last flip (Yuasa 1990), incremental, in slices beside the epochs. The
//! mutation log *is* the snapshot barrier: references overwritten since the flip are read from the running log, and what
//! the last log holds is shown to the mark when it is reconciled. Objects promoted meanwhile are marked; objects that die by
//! counting meanwhile show their references and keep their memory until the mark has ended.
//!
//! ```text
//! Clear ──► Discover ──► Weak ──► Keys ──► Slots ──► Release ────────────► Free ──► (off)
//! bits      mark stack   what is unmarked is dead    marked survivors      give the memory of the dead back
//!           and logs     (see below)                 lose what was held
//!             ▲            │
//!             └─Finalize ◄─┘   unmarked objects with finalizers are held, and what they reach is marked with them
//! ```
//!
//! From the end of discovery on no weak slot yields an unmarked object (`MarkPhase::condemns`), so that all that comes then can go in
//! slices. `[WEAK]` `Weak`: weak references to it are cleared, before the first finalizer among it is queued. `Keys`: ephemerons
//! that were held back and are alive lose dead keys and what they hold; one that has been logged meanwhile may not, and
//! what it holds is marked: discovery goes on then, for the last time for that ephemeron. `Slots`: weak slots in dead objects are
//! forgotten. When `Release` begins nothing unmarked has a finalizer left to run, so nothing that it condemns comes back. All such
//! objects are found before the first of them is followed: those that only others of them reach belong to the set as
//! well.
//!
//! It is started by [evidence](crate::evidence) only. It is given up when counting alone frees the heap, but not time and again.

use crate::account::Pressure;
use crate::evidence::Evidence;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::discovery::Discovery;
use crate::plan::deferred::epoch::Phase;
use crate::prefetch_queue::AHEAD;
use crate::record_walk::{Looked, RecordWalk, Sought};
use crate::release_to_marked::release_to_marked;
use crate::slice::CHUNK_UNITS;
use tally_heap::mark_phase::MarkPhase;
use tally_heap::memory::heap_walk::HeapWalk;
use tally_heap::memory::list::List;
use tally_heap::memory::range::MARK;
use tally_heap::object::flag;
use tally_heap::plan::deferred::count::STUCK;
use tally_heap::plan::deferred::mature::MatureWalk;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

mod judged;

use judged::Found;
pub(crate) use judged::facts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Off,
    Clear,
    Discover,
    Weak,
    Finalize,
    Keys,
    Slots,
    Release,
    Free,
}

/// The mark's cursors and its evidence.
#[derive(Debug, Default)]
pub struct Mark {
    stage: Stage,
    pub(crate) discovery: Discovery,
    /// Large objects reached, or condemned, with the chunk to visit, or to release, next.
    pub(crate) large: List<(ObjectRef, u64)>,
    /// The objects whose mark bits are cleared next.
    clear_at: HeapWalk,
    walk: MatureWalk,
    records: RecordWalk,
    live_at_start: u64,
    /// Bytes of objects that were alive then, or thought so.
    bytes_at_start: u64,
    freed: u64,
    pub(crate) found: Found,
    /// As many had died by counting when discovery ended.
    died_before: usize,
    aborted: bool,
    /// The objects with finalizers were found.
    pub(crate) finalizable_found: bool,
    /// Some of those have stuck counts: the visits from then on tell whether another of them holds one.
    pub(crate) looks_for_owners: bool,
    /// Finalizers that the last one found have not run, or what they ran for is still held: the next one could not free it.
    awaits_finalizers: bool,
    /// The evidence for the next one.
    pub(crate) evidence: Evidence,
}

impl Mark {
    /// Where it is.
    pub(in crate::plan::deferred) fn stage(&self) -> impl std::fmt::Debug {
        self.stage
    }

    /// Whether a mark is in progress.
    pub fn is_running(&self) -> bool {
        self.stage != Stage::Off
    }

    /// Whether it must hurry: the heap has grown too far for a mark that runs.
    pub(crate) fn is_overdue(&self, heap: &Heap) -> bool {
        self.is_running() && self.evidence.is_overdue(judged::live_bytes(heap), heap.options().epoch_bytes)
    }

    /// How near to that it is.
    pub(crate) fn pressure(&self, heap: &Heap) -> Pressure {
        match self.is_running() {
            true => self.evidence.pressure(judged::live_bytes(heap), heap.options().epoch_bytes),
            false => Pressure::NONE,
        }
    }

    /// Begins with a stage that looks at all objects, or at all records.
    fn enter(&mut self, stage: Stage) {
        (self.stage, self.walk, self.records) = Default::default();
        self.stage = stage;
    }
}

impl DeferredDriver {
    /// Whether there is evidence that a mark would pay. What waits for finalizers is freed by a mark that begins when they have
    /// run, so one that could wait for them does.
    pub(crate) fn mark_is_due(&self, heap: &Heap) -> bool {
        let (evidence, facts) = (&self.mark.evidence, facts(heap, self.trials.in_doubt));
        let waits = self.mark.awaits_finalizers && !evidence.is_pressing(facts);
        !self.mark.is_running() && (heap.options().eager_marks || !waits && evidence.is_enough(facts))
    }

    /// At the end of an epoch: what the last mark found for finalizers is let go of when they have run.
    pub(crate) fn note_finalizers_of_mark(&mut self, heap: &Heap) {
        self.mark.awaits_finalizers &= !heap.services.finalizers.are_done();
    }

    /// Starts a mark. It sees the heap of the last flip before discovery begins.
    pub(crate) fn start_mark(&mut self, heap: &mut Heap) {
        debug_assert!(!self.mark.is_running(), "what is half condemned would never be let go of");
        heap.statistics.marks += 1;
        let mark = &mut self.mark;
        mark.stage = Stage::Clear;
        (mark.clear_at, mark.freed, mark.found, mark.aborted) = Default::default();
        (mark.finalizable_found, mark.looks_for_owners) = (false, false);
        mark.live_at_start = heap.statistics.live_objects;
        mark.bytes_at_start = heap.statistics.live_bytes;
        mark.evidence.note_start(std::mem::take(&mut heap.suspects));
        self.trials.in_doubt = false;
        heap.set_poll(true);
    }

    /// Clears the mark bits of one block, or of one large object; then discovery begins, or waits for the epoch's passes
    /// (`None`). Bits of blocks and objects that are new meanwhile are clear.
    fn clear_marks(&mut self, heap: &mut Heap) -> Option<i64> {
        if let Some(place) = self.mark.clear_at.next(&heap.bump.blocks.owned, &heap.large) {
            // SAFETY: a place of this heap.
            unsafe { place.clear_marks() };
            return Some(4);
        }
        if !matches!(self.phase, Phase::Idle | Phase::Try) {
            return None;
        }
        self.begin_discovery(heap);
        Some(1)
    }

    fn begin_discovery(&mut self, heap: &mut Heap) {
        let mark = &mut self.mark;
        heap.services.specials.mark_begins();
        // A large object that was looked for is visited before the next is.
        if mark.large.try_reserve(1) && mark.discovery.begin(heap, self.roots.len()) {
            mark.stage = Stage::Discover;
            heap.set_mark_phase(MarkPhase::Discovers);
        } else {
            // There is no memory for its roots.
            self.abort_mark(heap);
        }
    }

    /// Does up to `units` of the mark's work; returns the units left.
    pub(crate) fn advance_mark(&mut self, heap: &mut Heap, mut units: i64) -> i64 {
        let died = heap.deferred.dead_queue.len() as u64;
        if self.mark.stage == Stage::Discover
            && died > self.mark.live_at_start / 8 + 65_536
            && self.mark.evidence.may_abort()
        {
            self.abort_mark(heap);
        }
        while units > 0 {
            let spent = match self.mark.stage {
                Stage::Off => return units,
                Stage::Clear => self.clear_marks(heap),
                Stage::Discover => self.discover(heap, units),
                Stage::Weak => self.clear_weak_to_unmarked(heap, units),
                Stage::Finalize => self.find_finalizable(heap),
                Stage::Keys => self.empty_held_back(heap),
                Stage::Slots => self.forget_slots_of_unmarked(heap, units),
                Stage::Release => self.release_unmarked(heap),
                Stage::Free => self.free_dead(heap),
            };
            match spent {
                Some(spent) => units -= spent,
                None => return units,
            }
        }
        units
    }

    /// Unmarked objects are dead now, but for those held for finalizers.
    pub(crate) fn end_discovery(&mut self, heap: &mut Heap) {
        heap.set_mark_phase(MarkPhase::Condemns);
        self.mark.died_before = heap.deferred.dead_queue.len();
        self.mark.enter(Stage::Weak);
    }

    /// Weak references to the next special object are cleared, if that is unmarked.
    fn clear_weak_to_unmarked(&mut self, heap: &mut Heap, mut units: i64) -> Option<i64> {
        let finalizers_follow = heap.services.finalizers.due != 0 && !self.mark.finalizable_found;
        match self.mark.records.next(heap, Sought::Targets, |object| object.is_mature() && is_unmarked(object)) {
            Looked::At(object) => {
                let before = units;
                heap.services.specials.finalizers_follow = finalizers_follow;
                if !heap.begin_reclaim_some(object, &mut units) {
                    self.mark.records.stay();
                }
                heap.services.specials.finalizers_follow = false;
                return Some(1 + (before - units));
            }
            Looked::Past(records) => return Some(records),
            Looked::AtAll => {}
        }
        if finalizers_follow {
            self.mark.finalizable_found = true;
            heap.services.specials.late_bytes = 0;
            self.mark.enter(Stage::Finalize);
        } else {
            self.mark.enter(Stage::Keys);
        }
        Some(1)
    }

    /// Some of the ephemerons that were held back are emptied, if they are alive. `None` while increments are pending.
    fn empty_held_back(&mut self, heap: &mut Heap) -> Option<i64> {
        if heap.deferred.counting {
            return None;
        }
        if let Some(spent) = heap.empty_ephemerons() {
            return Some(spent);
        }
        if heap.mark_stack.is_empty() && !heap.deferred.mark_overflowed {
            self.mark.enter(Stage::Slots);
        } else {
            self.go_on_discovering(heap);
        }
        Some(1)
    }

    /// The next special object, if it is unmarked, is no holder and no key any more.
    fn forget_slots_of_unmarked(&mut self, heap: &mut Heap, mut units: i64) -> Option<i64> {
        if heap.deferred.counting {
            return None;
        }
        match self.mark.records.next(heap, Sought::Special, |object| object.is_mature() && is_unmarked(object)) {
            Looked::At(object) => {
                let before = units;
                if !heap.let_go_weakly(object, &mut units) {
                    self.mark.records.stay();
                }
                Some(1 + (before - units))
            }
            Looked::Past(records) => Some(records),
            Looked::AtAll => {
                self.mark.enter(Stage::Release);
                Some(1)
            }
        }
    }

    fn go_on_discovering(&mut self, heap: &mut Heap) {
        self.mark.enter(Stage::Discover);
        heap.set_mark_phase(MarkPhase::Discovers);
    }

    /// Looks for finalizers in a part of a block, or at one large object; then discovery goes on with what they are for.
    fn find_finalizable(&mut self, heap: &mut Heap) -> Option<i64> {
        let mark = &mut self.mark;
        let found = heap.walk_mature(&mut mark.walk, CHUNK_UNITS, |heap, object| {
            mark.looks_for_owners |= await_if_unmarked(heap, object);
            1
        });
        if found.is_none() {
            heap.queue_found_by_mark();
            self.set_waits = true;
            self.go_on_discovering(heap);
        }
        Some(found.unwrap_or(1))
    }

    /// A part of a block, or one chunk of a large object: mature unmarked objects are dead. `None` while deaths must be released
    /// first.
    fn release_unmarked(&mut self, heap: &mut Heap) -> Option<i64> {
        if self.has_deaths(heap) {
            return None;
        }
        if let Some((object, chunk)) = self.mark.large.pop() {
            if chunk + 1 < heap.large.stamps(object).len() as u64 {
                self.mark.large.push((object, chunk + 1));
            }
            return Some(2 + release_to_survivors(heap, object, Part::Chunk(chunk)));
        }
        let mark = &mut self.mark;
        let found = heap.walk_mature(&mut mark.walk, CHUNK_UNITS, |heap, object| {
            if !is_unmarked(object) {
                return 1;
            }
            mark.freed += 1;
            2 + condemn(heap, object, &mut mark.large)
        });
        if found.is_none() {
            mark.stage = Stage::Free;
            heap.set_mark_phase(MarkPhase::Off);
        }
        Some(found.unwrap_or(1))
    }

    /// What the mark has found is what it condemned, and what died by counting since it knew that to be dead: all that
    /// ephemerons released with their keys. (Of a weak map whose values led to their keys each mark freed nearly all, was
    /// thought to have freed nothing, and the next came ever later.)
    fn free_dead(&mut self, heap: &mut Heap) -> Option<i64> {
        match heap.deferred.dead_queue.pop() {
            Some(object) => {
                heap.deferred.dead_queue.prefetch_below(AHEAD);
                if heap.deferred.dead_queue.len() >= self.mark.died_before && !MARK.get(object.granule()) {
                    self.mark.found.freed += object.type_info().cell_bytes_of(object);
                }
                heap.free(object);
            }
            None => self.end_mark(heap),
        }
        Some(2 + heap.large.leaving.take_units())
    }

    fn end_mark(&mut self, heap: &mut Heap) {
        let mark = &mut self.mark;
        mark.stage = Stage::Off;
        heap.statistics.cyclic_garbage_objects += mark.freed;
        self.tracer.stops.report.freed_by_mark += mark.freed;
        match mark.aborted {
            true => heap.suspects += mark.evidence.note_abort(facts(heap, false).live),
            false => {
                mark.found.late = if mark.finalizable_found { heap.services.specials.late_bytes } else { 0 };
                mark.awaits_finalizers = mark.found.awaited > 0;
                let (alive, late) = judged::alive_and_late(heap, mark.bytes_at_start, &mark.found);
                mark.evidence.learn(alive, late, mark.found.freed + mark.found.awaited);
            }
        }
    }

    /// Counting frees the heap by itself: release what the mark holds back.
    fn abort_mark(&mut self, heap: &mut Heap) {
        heap.mark_stack.clear();
        heap.services.specials.mark_begins();
        self.mark.large.clear();
        self.mark.discovery.forget(heap);
        self.mark.stage = Stage::Free;
        self.mark.aborted = true;
        heap.set_mark_phase(MarkPhase::Off);
        heap.statistics.marks_aborted += 1;
    }
}

/// Whether what a logged object held may be followed. A dead object is kept while a log names it (its block was logged as
/// a whole), but what it held may have been freed, and a large object's blocks may be another heap's by now; following
/// such a word marked that heap's objects. Nothing is lost: an object dead by count was dead at its flip, and if the mark
/// discovered then, `release` has shown or will show what it held. A young object that was written to before anybody
/// counted it has count 0, too; what it held at the flip was the mark's already, or was promoted with a mark.
pub(crate) fn may_follow_logged_words(object: ObjectRef) -> bool {
    !object.is_known_dead()
}

/// Whether it waits for its finalizer from now on, and its count is stuck.
fn await_if_unmarked(heap: &mut Heap, object: ObjectRef) -> bool {
    let waits = object.is_mature() && is_unmarked(object) && object.needs_finalizer();
    if waits {
        heap.await_finalizer_with_others(object);
    }
    waits && object.count() == STUCK
}

/// Whether the mark proves the object dead, and no pass knows yet. What counting has already released is known: it has
/// count 0, and is in the late queue while a log names it. (Condemning it again once released its references twice.)
fn is_unmarked(object: ObjectRef) -> bool {
    !MARK.get(object.granule()) && !object.is_known_dead()
}

/// The object is dead; marked survivors lose the references it held, those of a large one later.
fn condemn(heap: &mut Heap, object: ObjectRef, large: &mut List<(ObjectRef, u64)>) -> i64 {
    let dies = |object: ObjectRef| object.is_mature() && (is_unmarked(object) || object.has(flag::DEAD));
    heap.note_cycles(std::iter::once(object), dies);
    if object.has(flag::SPECIAL) {
        heap.reclaim_special_all(&[object]);
    }
    object.add_flags(flag::DEAD);
    heap.deferred.dead_queue.push(object);
    if object.has(flag::LARGE) {
        large.push((object, 0));
        return 0;
    }
    release_to_survivors(heap, object, Part::Whole)
}

fn release_to_survivors(heap: &mut Heap, object: ObjectRef, part: Part) -> i64 {
    release_to_marked(object, part, |target| heap.decrement(target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutator;
    use std::ffi::c_void;
    use tally_heap::services::weak_map::WeakMode;
    use tally_heap::{HeapEntry, HeapOptions, TypeDescriptor, type_registry};

    const ENTRIES: u64 = 100;
    /// Both types' cells: the header, a word each.
    const VALUE_AND_KEY: u64 = 2 * 16;
    /// An entry's cell: the header and two words; its place in the table; a word for what else the table has.
    const ENTRY: u64 = 8 + 16 + 16;

    unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {}

    // SAFETY: `finalize` takes any object of the type.
    static VALUE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"Value", 8, &[0]).finalized(finalize) };
    static KEY: TypeDescriptor = TypeDescriptor::plain(c"Key", 8, &[]);

    fn with_driver(m: &mut Mutator, act: impl FnOnce(&mut DeferredDriver, &mut Heap)) {
        m.heap().with_driver(|driver, heap| {
            // SAFETY: a heap with default options has the driver of the deferred plan.
            act(unsafe { &mut *(&raw mut *driver).cast::<DeferredDriver>() }, heap);
        });
    }

    /// A map with weak keys, of entries whose values lead to their keys and have finalizers: a mark finds them, and the next that
    /// begins when the finalizers have run frees them, with the map's entries. One that begins before frees nothing.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn what_finalizers_need_is_no_base_and_the_next_mark_waits_for_them() {
        // SAFETY: [HELD] references are used as it says.
        let mut m = unsafe { Mutator::new(HeapOptions::default()) }.expect("address space");
        let [value, key] = [&VALUE, &KEY].map(|descriptor| type_registry::register(descriptor).expect("sound"));
        let map = m.new_weak_map(WeakMode::Keys).expect("memory");
        m.push_root(Some(map));
        for _ in 0..ENTRIES {
            let key = m.allocate(key).expect("memory");
            m.push_root(Some(key));
            let value = m.allocate(value).expect("memory");
            m.push_root(Some(value));
            m.write(value, value.slot(0), key.address());
            m.weak_map_set(map, key, value).expect("memory");
            m.truncate_roots(1);
        }
        with_driver(&mut m, |driver, heap| {
            driver.run_epoch(heap);
            driver.run_epoch(heap);
            assert_eq!(driver.mark.found.awaited, 0);
            driver.start_mark(heap);
            driver.finish(heap);
            assert_eq!(driver.mark.found.awaited, ENTRIES * VALUE_AND_KEY);
            assert_eq!(heap.services.specials.late_bytes, ENTRIES * ENTRY);
            heap.suspects = 1;
            driver.mark.evidence = Evidence::default();
            heap.statistics.live_bytes += 3 * heap.options().epoch_bytes;
            driver.note_finalizers_of_mark(heap);
            assert!(!driver.mark_is_due(heap), "the finalizers have not run");
            heap.statistics.live_bytes += 10 * heap.options().epoch_bytes;
            assert!(driver.mark_is_due(heap), "they may never");
            heap.statistics.live_bytes -= 13 * heap.options().epoch_bytes;
        });
        // SAFETY: [HELD] the test has no reference that it goes on to use but the map's, which is a root.
        Heap::run_finalizers(unsafe { HeapEntry::of(m.heap()) });
        with_driver(&mut m, |driver, heap| {
            assert_eq!(heap.services.finalizers.done.len() as u64, ENTRIES);
            driver.note_finalizers_of_mark(heap);
            assert!(driver.mark.awaits_finalizers, "they are held until the next flip");
            driver.run_epoch(heap);
            driver.note_finalizers_of_mark(heap);
            assert!(!driver.mark.awaits_finalizers);
            driver.start_mark(heap);
            driver.finish(heap);
        });
        assert_eq!(m.weak_map_count(map), 0);
    }
}
