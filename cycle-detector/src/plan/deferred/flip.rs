//! The flip: the one step of an epoch that is atomic to the mutator.
//!
//! 1. The allocation areas are closed; the epoch gets its new number: everything stamped until now is pending. `[PENDING]`
//! 2. The running log becomes the last log; a new one begins.
//! 3. The unlogged bits of all blocks that were logged or allocated in since the last flip are armed. `[LOG]`
//! 4. The roots are noted, as they are now. `[ROOT]` They are counted in the first slices after it: nothing that they hold can lose
//!    its last count before, since all increments of a flip come before its decrements. `[ORDER]`
//!
//! Cost: 4,096 frames of the stack (`FRAMES_AT_FLIP`), all globals and what a host holds, 256 bytes of bits per block
//! allocated or logged in, 128 bytes of bits for each 16 KiB of large objects allocated, and some instructions per logged
//! chunk. The length of the log does not matter, and the size of the heap does by 20 to 30 ns for 32 KiB that were written to.
//! The frames below are visited in slices, or when the program comes back to one, before anything is counted: what they hold
//! then is what they held now (`stack`, `diversion`). `[WATERMARK]` The passes that follow are sliced, too; they see the heap as
//! of this moment through the log and the pending stamps.

use crate::collection_log::Kind;
use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::root_source::{FRAMES_AT_FLIP, Headway, RootList, note_frames};
use crate::slice::CHUNK_UNITS;
use tally_heap::heap::{FIRST_EPOCH, LAST_EPOCH};
use tally_heap::memory::list::List;
use tally_heap::memory::range::trial_cell;
use tally_heap::object::flag;
use tally_heap::plan::deferred::log::LogCursor;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

impl DeferredDriver {
    /// Flips. The passes of the last flip must be done.
    pub(crate) fn flip(&mut self, heap: &mut Heap) {
        debug_assert_eq!(self.phase, Phase::Idle);
        if heap.clock.epoch >= LAST_EPOCH {
            self.start_numbering_over(heap);
        }
        self.flip_once(heap);
    }

    fn flip_once(&mut self, heap: &mut Heap) {
        self.flip_from(heap, List::new());
    }

    /// The same. If a walk over the stack has begun, it goes on, and has found the roots in `begun`.
    pub(crate) fn flip_from(&mut self, heap: &mut Heap, begun: List<ObjectRef>) {
        self.tracer.stack.lay_down(heap);
        heap.retire_allocation();
        heap.clock.epoch += 1;
        heap.context_mut().stamp = heap.clock.epoch;
        heap.statistics.epochs += 1;
        heap.statistics.log_entries += heap.deferred.log.entries;
        self.allocated_at_flip = heap.statistics.allocated_objects;
        heap.clock.allocated_bytes_at_flip = heap.statistics.allocated_bytes;
        let work_ns = heap.options().slice_units.is_none().then_some(self.tracer.stops.report.work_ns);
        self.tracer.stops.open_report(heap, Kind::Epoch);

        std::mem::swap(&mut self.last_log, &mut heap.deferred.log);
        debug_assert!(heap.deferred.log.is_empty());
        (self.reconcile_at, self.release_at) = Default::default();
        self.mark.discovery.flip();
        Self::arm_barriers(heap);

        debug_assert!(self.last_late.is_empty());
        std::mem::swap(&mut self.last_late, &mut heap.deferred.late_queue);
        self.take_roots(heap, begun);

        self.phase = Phase::Count;
        heap.deferred.counting = true;
        heap.log_open_objects();
        heap.clock.begin_epoch();
        heap.deferred.log_poll_at = heap.options().log_entries;
        heap.set_poll(true);
        self.trigger.note_flip(work_ns);
    }

    fn arm_barriers(heap: &mut Heap) {
        heap.bump.blocks.flip();
        heap.keep_hole_open();
        heap.large.flip();
        heap.services.specials.flip();
        heap.flip_finalizers();
    }

    /// The objects that roots hold now; `count_roots` counts them, in steps. Of a deep stack the newest frames; `walk_on` visits the others.
    fn take_roots(&mut self, heap: &mut Heap, begun: List<ObjectRef>) {
        // Weak slots and finalizers held theirs as if by roots of the flip before.
        self.last_roots.take_over(&mut self.roots);
        self.last_upgraded.take_over(&mut heap.services.specials.upgraded);
        debug_assert!(self.last_done.is_empty());
        std::mem::swap(&mut self.last_done, &mut heap.services.finalizers.done);
        self.last_done.extend(heap.flip_immortals());
        self.counted_roots = 0;
        heap.set_roots_uncounted(true);
        if self.tracer.stack.has_rest() {
            self.roots = begun;
        } else {
            self.find_roots(heap, FRAMES_AT_FLIP);
        }
        self.tracer.stops.report.roots = self.roots.len() as u64;
    }

    /// Adds what roots hold now, of the stack those of so many frames.
    pub(crate) fn find_roots(&mut self, heap: &mut Heap, frames: usize) {
        let mut roots = RootList::of_live_objects(std::mem::take(&mut self.roots), heap);
        roots.push_those_outside_the_stack(heap);
        let before = heap.statistics.frames_walked;
        self.tracer.stack.begin(heap, frames, &mut roots);
        note_frames(heap, before);
        self.roots = roots.into_objects();
    }

    /// Visits `frames` of those that the flip left for later.
    pub(crate) fn walk_on(&mut self, heap: &mut Heap, frames: usize) {
        let mut roots = RootList::of_live_objects(std::mem::take(&mut self.roots), heap);
        let before = heap.statistics.frames_walked;
        let headway = self.tracer.stack.go_on(heap, frames, &mut roots);
        note_frames(heap, before);
        self.roots = roots.into_objects();
        self.tracer.stops.report.roots = self.roots.len() as u64;
        if headway == Headway::Cut {
            self.take_all_that_is_reached(heap);
        }
    }

    /// The program is about to come back to a frame that waits: what it holds is noted before it may change.
    pub(crate) fn frame_is_reached(&mut self, heap: &mut Heap) {
        if self.tracer.stack.has_rest() {
            self.stopped(heap, |driver, heap| driver.walk_on(heap, CHUNK_UNITS as usize));
        }
    }

    /// The program has left frames that waited by a jump, and may have changed others before that was seen. What a root
    /// held at the flip and was lost so is either garbage or has been written somewhere since. So whatever roots and
    /// logged objects reach now, by way of objects that are newer than the flip or were written to since, counts as held by
    /// a root. Logged objects do although they may be garbage by now: the next flip reads what they hold. Nothing has died
    /// of this flip, since the increments are not done. `[ORDER]`
    #[cold]
    fn take_all_that_is_reached(&mut self, heap: &mut Heap) {
        let noted = self.roots.len();
        let mut roots = RootList::of_live_objects(std::mem::take(&mut self.roots), heap);
        roots.push_those_outside_the_stack(heap);
        self.tracer.stack.visit(heap, &mut roots);
        let mut roots = roots.into_objects();
        let mut queue = roots.split_off(noted);
        let mut entry = LogCursor::default();
        while let Some(logged) = heap.deferred.log.next(&mut entry) {
            // A structure that died before the flip is taken apart meanwhile, and a block that was logged as a whole may have members of
            // it. One that is dead already would die once more.
            if !logged.object.is_mature() || logged.object.count() != 0 {
                queue.push(logged.object);
            }
        }
        let mut seen = Seen::default();
        while let Some(object) = queue.pop() {
            if !seen.insert(object) {
                continue;
            }
            let is_new = object.stamp() == heap.clock.epoch && !object.is_mature();
            if !is_new {
                roots.push(object);
            }
            for_each_part_of_epoch(heap, object, |part| {
                object.type_info().for_each_reference(object, part, |target| queue.push(target));
            });
        }
        self.tracer.stops.report.roots = roots.len() as u64;
        self.roots = roots;
        // At once: the others would die before they are counted.
        while heap.roots_are_uncounted() {
            self.count_roots(heap);
        }
    }

    /// After 2³² flips the stamps are used up: run everything to its end, so that no stamp but 0 is left, and begin
    /// with the first number again.
    #[cold]
    fn start_numbering_over(&mut self, heap: &mut Heap) {
        self.flip_once(heap);
        self.run_passes(heap);
        debug_assert!(heap.deferred.log.is_empty());
        heap.clock.epoch = FIRST_EPOCH;
        heap.context_mut().stamp = FIRST_EPOCH;
    }
}

/// Objects seen so far: their bytes in the trial table say so, which no trial needs before the increments are done. `[TRIAL]`
#[derive(Default)]
struct Seen(List<ObjectRef>);

impl Seen {
    /// False when it was there.
    fn insert(&mut self, object: ObjectRef) -> bool {
        // SAFETY: the trial table of the reserved range is mapped.
        let is_new = unsafe { std::mem::replace(&mut *trial_cell(object.address()), 1) } == 0;
        if is_new {
            self.0.push(object);
        }
        is_new
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        // SAFETY: the trial table of the reserved range is mapped.
        self.0.iter().for_each(|object| unsafe { *trial_cell(object.address()) = 0 });
    }
}

/// Calls `visit` with what of an object was made or written to since the flip.
fn for_each_part_of_epoch(heap: &mut Heap, object: ObjectRef, mut visit: impl FnMut(Part)) {
    let epoch = heap.clock.epoch;
    if object.has(flag::LARGE) {
        let stamps = heap.large.stamps(object).iter().zip(0..);
        stamps.filter(|&(&stamp, _)| stamp == epoch).for_each(|(_, chunk)| visit(Part::Chunk(chunk)));
    } else if object.stamp() == epoch {
        visit(Part::Whole);
    }
}

#[cfg(test)]
mod tests {
    use crate::Mutator;
    use crate::plan::deferred::DeferredDriver;
    use std::ffi::c_void;
    use tally_heap::{HeapOptions, TypeDescriptor, type_registry};

    const MANY: usize = 1000;

    unsafe extern "C-unwind" fn finalize(_object: *mut c_void) {}

    // SAFETY: `finalize` takes any object of the type.
    static FILE: TypeDescriptor = unsafe { TypeDescriptor::plain(c"File", 8, &[]).finalized(finalize) };
    static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 8, &[]);

    /// With a million of each a copy took milliseconds.
    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn lists_of_what_was_held_change_hands_and_are_not_copied() {
        // SAFETY: [HELD] references are used as it says.
        let mut m = unsafe { Mutator::new(HeapOptions::default()) }.expect("address space");
        let types = [&FILE, &NODE].map(|descriptor| type_registry::register(descriptor).expect("sound"));
        let mut weaks = vec![];
        for _ in 0..MANY {
            let [file, node] = types.map(|type_id| m.allocate(type_id).expect("memory"));
            m.push_root(Some(file));
            m.push_root(Some(node));
            let weak = m.new_weak(node).expect("memory");
            m.push_root(Some(weak));
            weaks.push(weak);
        }
        m.epoch();
        for place in (0..3 * MANY).step_by(3) {
            m.heap().services.host_roots.stack[place] = None;
        }
        for _ in 0..10 {
            m.epoch();
            if m.heap().services.finalizers.done.len() == MANY {
                break;
            }
        }
        // The nodes are roots no longer: each upgrade is the first of the epoch.
        m.heap().set_roots_uncounted(true);
        weaks.iter().for_each(|weak| assert!(m.read_weak(weak.slot(0)).is_some()));
        m.heap().set_roots_uncounted(false);
        let heap = m.heap();
        assert_eq!((heap.services.finalizers.done.len(), heap.services.specials.upgraded.len()), (MANY, MANY));
        let before = (heap.services.finalizers.done.as_ptr(), heap.services.specials.upgraded.as_ptr());
        heap.with_driver(|driver, heap| {
            // SAFETY: a heap with default options has the driver of the deferred plan.
            let driver = unsafe { &mut *(&raw mut *driver).cast::<DeferredDriver>() };
            let roots = driver.roots.as_ptr();
            driver.flip(heap);
            assert_eq!((driver.last_done.as_ptr(), driver.last_upgraded.objects.as_ptr()), before);
            assert_eq!(driver.last_roots.objects.as_ptr(), roots);
        });
        m.truncate_roots(0);
        m.collect();
        m.verify().expect("sound");
        assert_eq!(m.live_objects(), []);
    }
}
