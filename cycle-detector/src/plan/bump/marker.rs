//! The marker of a collection: follows references from living objects until none is left, or until its slice has ended.
//!
//! ```text
//!   show(o):    if o is not marked:  mark o;  push o
//!   finish:     while something is on the stack:  pop o;  o survives;  show all that o refers to
//! ```
//!
//! A stack that cannot grow forgets: the object survives at once, and when the stack is empty all survivors are visited
//! again. A round of that cannot be in vain, since it marks what the forgotten refer to. (Knuth, *The Art of Computer
//! Programming* 1, §2.3.5, algorithm C.) An ephemeron whose key is not marked waits; it is visited by way of the key.
//!
//! A mark in slices goes on in another slice: between two of them the heap has the stack, for what its barrier shows. Such a mark does
//! not look for what it has forgotten. It follows no object that is new (`plan::trace::slices` of the heap).

use crate::prefetch_queue::PrefetchQueue;
use crate::slice::{CHUNK_UNITS, Slice};
use tally_heap::memory::list::List;
use tally_heap::memory::object_stack::ObjectStack;
use tally_heap::memory::range::{LIVE, MARK};
use tally_heap::object::flag;
use tally_heap::plan::bump::collection::Survivors;
use tally_heap::visit::{Part, references_among};
use tally_heap::{Heap, ObjectRef};

/// Follows references from living objects.
#[derive(Debug)]
pub(crate) struct Marker {
    /// Objects that are marked and not visited.
    stack: ObjectStack,
    /// So many it may hold.
    most: usize,
    /// Marked objects were forgotten.
    forgot: bool,
    /// They are looked for.
    searches: bool,
    /// It goes in slices, and there are new objects.
    is_sliced: bool,
    /// Ephemerons that must not be followed, as far as is known.
    held_back: List<ObjectRef>,
    /// Large objects whose visit the end of a slice has cut, and the chunk to go on at.
    cut: List<(ObjectRef, u64)>,
    /// What the mark has reached.
    survivors: Survivors,
    /// References followed, and objects visited.
    pub(crate) units: u64,
    /// When it gives up. It was told of `looked_at` units, and is told again when there are `next_look`.
    slice: Slice,
    looked_at: u64,
    next_look: u64,
}

impl Marker {
    /// A marker for a collection of `heap`, whose stack it takes. It gives up when `slice` has ended.
    pub(crate) fn of(heap: &mut Heap, slice: Slice) -> Marker {
        Marker {
            stack: std::mem::take(&mut heap.mark_stack),
            most: heap.options().list_entries_max.unwrap_or(usize::MAX),
            forgot: false,
            searches: true,
            is_sliced: false,
            held_back: List::new(),
            cut: List::new(),
            survivors: Survivors { age: heap.survivors_age(), ..Survivors::default() },
            units: 0,
            looked_at: 0,
            next_look: slice.chunk().min(CHUNK_UNITS) as u64,
            slice,
        }
    }

    /// Goes on in another slice, without looking for what was forgotten.
    pub(crate) fn begin_slice(&mut self, heap: &mut Heap, slice: Slice) {
        (self.is_sliced, self.searches) = (true, false);
        self.stack = std::mem::take(&mut heap.mark_stack);
        (self.looked_at, self.next_look) = (self.units, self.units + slice.chunk().clamp(1, CHUNK_UNITS) as u64);
        self.slice = slice;
    }

    /// Ends the slice: the heap has the stack.
    pub(crate) fn end_slice(&mut self, heap: &mut Heap) {
        heap.mark_stack = std::mem::take(&mut self.stack);
    }

    /// The same, and looks for it: all that has survived so far has live bits.
    pub(crate) fn begin_searching_slice(&mut self, heap: &mut Heap, slice: Slice) {
        self.begin_slice(heap, slice);
        self.searches = true;
    }

    /// What survives, as far as it was visited.
    pub(crate) fn survivors(&mut self) -> &mut Survivors {
        &mut self.survivors
    }

    /// Whether marked objects were forgotten, and not looked for.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.forgot
    }

    /// Gives the stack back. Returns what survives.
    pub(crate) fn end(mut self, heap: &mut Heap) -> Survivors {
        debug_assert!(self.stack.is_empty() || self.slice.has_ended());
        self.stack.clear();
        heap.mark_stack = self.stack;
        self.survivors
    }

    /// So many units were done elsewhere. Returns whether the slice goes on.
    pub(crate) fn spend(&mut self, units: u64) -> bool {
        self.units += units;
        self.units < self.next_look || self.looks()
    }

    #[inline(never)]
    fn looks(&mut self) -> bool {
        self.slice.spend((self.units - self.looked_at) as i64);
        self.looked_at = self.units;
        self.next_look = self.units + self.slice.chunk().clamp(1, CHUNK_UNITS) as u64;
        !self.slice.ends()
    }

    /// Marks a living object, to be visited.
    #[inline(always)]
    pub(crate) fn show(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !MARK.get(object.granule()) {
            MARK.set(object.granule());
            self.visit_later(heap, object);
        }
    }

    #[inline(always)]
    fn visit_later(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !self.stack.try_push(object, self.most) {
            self.forget(heap, object);
        }
    }

    /// There is no room for a marked object on the stack: the search for survivors comes to it.
    #[cold]
    fn forget(&mut self, heap: &mut Heap, object: ObjectRef) {
        self.forgot = true;
        if !object.has(flag::LARGE) {
            self.note_small_survivor(heap, object);
        }
    }

    /// Follows everything. False when the slice has ended before.
    pub(crate) fn finish(&mut self, heap: &mut Heap) -> bool {
        match self.is_sliced {
            true => self.finish_as::<true>(heap),
            false => self.finish_as::<false>(heap),
        }
    }

    fn finish_as<const SLICED: bool>(&mut self, heap: &mut Heap) -> bool {
        loop {
            while let Some((object, chunk)) = self.cut.pop() {
                self.follow_chunks(heap, object, chunk);
                if self.slice.has_ended() {
                    return false;
                }
            }
            let mut soon = PrefetchQueue::default();
            while let Some(object) = soon.next(|| self.stack.pop().inspect(|object| LIVE.prefetch(object.granule()))) {
                self.visit::<SLICED>(heap, object);
                if self.units >= self.next_look && !self.looks() {
                    soon.drain().for_each(|object| self.visit_later(heap, object));
                    return false;
                }
            }
            if !self.cut.is_empty() {
                return false;
            }
            if !self.forgot || !self.searches {
                return true;
            }
            self.forgot = false;
            self.visit_survivors_again::<SLICED>(heap);
            if self.slice.has_ended() {
                self.forgot = true;
                return false;
            }
        }
    }

    /// Notes that a marked object survives, and marks what it refers to.
    #[inline(always)]
    fn visit<const SLICED: bool>(&mut self, heap: &mut Heap, object: ObjectRef) {
        if SLICED && heap.is_new(object) {
            self.units += 1;
            return;
        }
        if object.has(flag::LARGE | flag::SPECIAL) {
            return self.visit_uncommon(heap, object);
        }
        self.note_small_survivor(heap, object);
        self.follow(heap, object);
    }

    /// Large objects are noted by the sweep.
    #[inline(always)]
    fn note_small_survivor(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !Heap::has_survived(object) {
            heap.survive(object, &mut self.survivors);
        }
    }

    #[inline(never)]
    fn visit_uncommon(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !object.has(flag::LARGE) {
            self.note_small_survivor(heap, object);
        }
        let (units, all) = heap.visit_values_of_key(object, |heap, value| self.show(heap, value));
        self.units += units as u64;
        if !all {
            self.visit_later(heap, object);
        } else if !heap.is_held_back(object) || !self.held_back.try_push(object) {
            // Without memory to hold it back its values live until the next collection.
            self.follow_in_parts(heap, object);
        }
    }

    /// Marks what an object that may be large refers to, until the slice ends.
    fn follow_in_parts(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !object.has(flag::LARGE) {
            return self.follow(heap, object);
        }
        self.follow_chunks(heap, object, 0);
    }

    fn follow_chunks(&mut self, heap: &mut Heap, object: ObjectRef, from: u64) {
        for chunk in from..heap.large.stamps(object).len() as u64 {
            if !self.spend(0) {
                self.forgot |= !self.cut.try_push((object, chunk));
                return;
            }
            self.follow_part(heap, object, Part::Chunk(chunk));
        }
    }

    /// Marks what the object refers to.
    #[inline(always)]
    fn follow(&mut self, heap: &mut Heap, object: ObjectRef) {
        self.follow_part(heap, object, Part::Whole);
    }

    #[inline(always)]
    fn follow_part(&mut self, heap: &mut Heap, object: ObjectRef, part: Part) {
        self.units += 2;
        let info = object.type_info();
        if !info.fixed_only
            && let Some(words) = info.words_in_a_row(object, part)
        {
            return self.follow_words(heap, words);
        }
        info.for_each_reference(object, part, |target| {
            self.units += 1;
            self.show(heap, target);
        });
    }

    /// The same of an array.
    #[inline(never)]
    fn follow_words(&mut self, heap: &mut Heap, words: &[u64]) {
        references_among(words, |target| {
            self.units += 1;
            self.show(heap, target);
        });
    }

    /// Visits everything that is marked once more.
    #[cold]
    fn visit_survivors_again<const SLICED: bool>(&mut self, heap: &mut Heap) {
        self.held_back.clear();
        heap.for_each_survivor(|heap, object| {
            if self.units < self.next_look || self.looks() {
                self.visit::<SLICED>(heap, object);
            }
        });
    }

    /// Takes the ephemerons that were held back, some more than once.
    pub(crate) fn take_all_held_back(&mut self) -> List<ObjectRef> {
        std::mem::take(&mut self.held_back)
    }

    /// Takes the ephemerons that were held back, once each.
    pub(crate) fn take_held_back(&mut self) -> List<ObjectRef> {
        let mut held_back = std::mem::take(&mut self.held_back);
        held_back.sort_unstable();
        held_back.dedup();
        held_back
    }
}
