//! The marker: follows references from living objects, at once or in parts. Both marks of the prompt plan have one.
//!
//! Objects marked and not visited are on a stack; large objects are visited by chunks. Between two parts the program
//! runs, and what is on the stack may die and be something else by then: what comes from an earlier part is looked at
//! before it is visited. A stack that cannot grow forgets: once all others were visited, all marked objects are visited
//! again, as [`crate::plan::deferred::discovery`] does it.

use crate::plan::prompt::proof::objects_at;
use crate::prefetch_queue::{AHEAD, PrefetchQueue};
use crate::root_source::RESERVED;
use crate::slice::OBJECTS_PER_STEP;
use tally_heap::memory::heap_walk::{BLOCK_UNITS, HeapWalk};
use tally_heap::memory::list::List;
use tally_heap::memory::range::MARK;
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Follows references from living objects, at once or in parts.
#[derive(Debug, Default)]
pub(super) struct Marker {
    stack: List<ObjectRef>,
    /// So many on the stack, from the first, were there when the program ran.
    doubtful: usize,
    /// Large objects, with the chunk to visit next.
    large: List<(ObjectRef, u64)>,
    /// Ephemerons that must not be followed, as far as is known.
    held_back: List<ObjectRef>,
    /// The one of those that is looked at next.
    held_back_at: usize,
    /// Objects that the stack may hold: as if there were no memory for more.
    pub(super) most: Option<usize>,
    /// Bytes of small objects visited since [`count_bytes`](Self::count_bytes) was called, if it was.
    bytes: Option<u64>,
    /// Marked objects were forgotten.
    forgot: bool,
    /// Where the search for them is.
    search_at: Option<HeapWalk>,
}

impl Marker {
    /// One that has memory for a short stack, whatever comes.
    pub(super) fn reserved() -> Marker {
        // A large object that was looked for is visited before the next is: with room for none it would be forgotten for ever.
        Marker { stack: List::with_capacity(RESERVED), large: List::with_capacity(1), ..Marker::default() }
    }

    /// As it was at first.
    pub(super) fn reset(&mut self) {
        let (mut stack, mut large) = (std::mem::take(&mut self.stack), std::mem::take(&mut self.large));
        stack.clear_to(RESERVED);
        large.clear();
        *self = Marker { stack, large, ..Marker::default() };
    }

    /// The object is alive.
    #[inline(always)]
    pub(super) fn show(&mut self, object: ObjectRef) {
        if !MARK.get(object.granule()) {
            MARK.set(object.granule());
            self.visit_later(object);
        }
    }

    /// The object has been marked, and is to be visited.
    #[inline(always)]
    pub(super) fn visit_later(&mut self, object: ObjectRef) {
        if self.stack.len() == self.stack.capacity() && !self.may_grow() {
            self.forgot = true;
        } else {
            // SAFETY: [LIST] there is room, or has been made.
            unsafe { self.stack.push_within(object) };
        }
    }

    #[cold]
    fn may_grow(&mut self) -> bool {
        let left = self.most.unwrap_or(usize::MAX) - self.stack.len();
        let more = self.stack.len().max(1024).min(left);
        more > 0 && self.stack.try_reserve_exact(more)
    }

    /// The objects to visit, as far as they are known.
    pub(super) fn waiting(&self) -> u64 {
        (self.stack.len() + self.large.len()) as u64 + u64::from(self.forgot || self.search_at.is_some())
    }

    /// Counts the bytes of objects visited from now on: those that finalizers only need, or that are alive by their counts only.
    pub(super) fn count_bytes(&mut self) {
        self.bytes = Some(0);
    }

    /// The same, if it does not count yet.
    pub(super) fn go_on_counting(&mut self) {
        self.bytes.get_or_insert(0);
    }

    /// How many bytes that was.
    pub(super) fn counted_bytes(&self) -> u64 {
        self.bytes.unwrap_or(0)
    }

    /// The same, and counts no more.
    pub(super) fn take_counted_bytes(&mut self) -> u64 {
        self.bytes.take().unwrap_or(0)
    }

    /// The program has run since.
    pub(super) fn note_that_the_program_ran(&mut self) {
        self.doubtful = self.stack.len();
    }

    /// Follows everything; returns the units that took.
    pub(super) fn finish(&mut self, heap: &mut Heap) -> i64 {
        let mut spent = 0;
        while self.waiting() != 0 {
            spent += self.advance(heap, i64::MAX);
        }
        spent
    }

    /// Does up to `units` of work, and a visit more at most; returns how many.
    pub(super) fn advance(&mut self, heap: &mut Heap, units: i64) -> i64 {
        let (mut spent, mut soon) = (0, PrefetchQueue::default());
        while spent < units {
            while self.doubtful != 0 && self.stack.len() < self.doubtful + AHEAD {
                spent += self.leave_out_what_has_gone(heap);
            }
            let Some(object) = soon.next(|| self.stack.pop()) else { break };
            if self.bytes.is_some() {
                self.count(heap, object);
            }
            spent += self.visit(heap, object);
        }
        soon.drain().for_each(|object| self.visit_later(object));
        while spent < units
            && let Some((object, chunk)) = self.large.pop()
        {
            spent += self.visit_chunk(heap, object, chunk);
        }
        if spent < units && self.stack.is_empty() {
            spent += self.search_for_marked(heap);
        }
        spent
    }

    /// Counts the bytes of an object that is about to be visited.
    #[cold]
    fn count(&mut self, heap: &Heap, object: ObjectRef) {
        let bytes = match object.type_info().ephemeron {
            true => heap.bytes_of_dead_ephemeron(object),
            false if object.has(prompt_flag::LARGE) => heap.large.cell_of(object),
            false => CellSpace::cell_of(object),
        };
        self.bytes = self.bytes.map(|counted| counted + bytes);
    }

    /// When marked objects were forgotten, visits all of one block, or one large object, once more.
    fn search_for_marked(&mut self, heap: &mut Heap) -> i64 {
        let mut walk = match self.search_at {
            Some(walk) => walk,
            None if std::mem::take(&mut self.forgot) => HeapWalk::default(),
            None => return 0,
        };
        let place = walk.next(&heap.prompt.cells.owned, &heap.large);
        self.search_at = place.map(|_| walk);
        let Some(place) = place else {
            // Others may have been forgotten meanwhile.
            self.held_back.sort_unstable();
            self.held_back.dedup();
            self.held_back_at = 0;
            return BLOCK_UNITS;
        };
        let mut spent = BLOCK_UNITS;
        for object in objects_at(place).filter(is_visited_again) {
            spent += self.visit(heap, object);
        }
        spent
    }

    /// Some of what was on the stack when the program ran, the topmost of that: entries that are no objects any more are taken off.
    #[cold]
    fn leave_out_what_has_gone(&mut self, heap: &Heap) -> i64 {
        let from = self.doubtful.saturating_sub(OBJECTS_PER_STEP);
        for place in (from..self.doubtful).rev() {
            if !heap.is_still_there(self.stack[place]) {
                self.stack.swap_remove(place);
            }
        }
        let looked_at = self.doubtful - from;
        self.doubtful = from;
        looked_at as i64
    }

    #[inline(always)]
    fn visit(&mut self, heap: &mut Heap, object: ObjectRef) -> i64 {
        let mut spent = 2;
        if object.has(prompt_flag::SPECIAL | prompt_flag::LARGE) {
            let (values, all) = heap.visit_values_of_key(object, |_, value| self.show(value));
            spent += values;
            if !all {
                self.visit_later(object);
                return spent;
            }
            if heap.is_held_back(object) {
                self.held_back.push(object);
                return spent;
            }
            if object.has(prompt_flag::LARGE) {
                self.forgot |= !self.large.try_push((object, 0));
                return spent;
            }
        }
        Heap::for_each_counted_reference(object, |target| {
            spent += 1;
            self.show(target);
        });
        spent
    }

    fn visit_chunk(&mut self, heap: &Heap, object: ObjectRef, chunk: u64) -> i64 {
        let mut spent = 2;
        if !heap.is_still_there(object) {
            return spent;
        }
        let info = object.type_info();
        info.for_each_reference(object, Part::Chunk(chunk), |target| {
            spent += 1;
            self.show(target);
        });
        if chunk + 1 < info.chunk_count(info.length(object)) {
            self.large.push((object, chunk + 1));
        }
        spent
    }

    /// The next of those that are held back, if it still is: it is visited if it has another key by now, none, or one that is
    /// marked, and forgotten if it has gone. What the program changes after a look while the watch is on comes by way of that.
    pub(super) fn next_held_back(&mut self, heap: &Heap) -> Option<ObjectRef> {
        let next = *self.held_back.get(self.held_back_at)?;
        if self.is_held_back_still(heap, next) {
            self.held_back_at += 1;
            return Some(next);
        }
        self.held_back.swap_remove(self.held_back_at);
        None
    }

    fn is_held_back_still(&mut self, heap: &Heap, ephemeron: ObjectRef) -> bool {
        if !heap.is_still_there(ephemeron) || !MARK.get(ephemeron.granule()) {
            return false;
        }
        let is_held_back = heap.is_held_back(ephemeron);
        if !is_held_back {
            self.visit_later(ephemeron);
        }
        is_held_back
    }

    /// Those that are held back are looked at from the first on.
    pub(super) fn look_at_held_back_again(&mut self) {
        self.held_back_at = 0;
    }

    /// Whether there are ephemerons that were held back and not looked at again.
    pub(super) fn has_held_back(&self) -> bool {
        self.held_back_at < self.held_back.len()
    }

    /// Those that are held back, which are not looked at again.
    pub(super) fn take_held_back(&mut self) -> List<ObjectRef> {
        self.held_back_at = 0;
        std::mem::take(&mut self.held_back)
    }
}

/// Marked, and not being taken apart, which shows what it holds.
fn is_visited_again(object: &ObjectRef) -> bool {
    MARK.get(object.granule()) && !object.has(prompt_flag::DEAD | prompt_flag::DYING)
}
