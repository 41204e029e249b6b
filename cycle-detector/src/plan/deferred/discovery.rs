//! Discovery: the part of a mark that finds the living objects, in steps.
//!
//! It begins with the roots of the last flip, a few at a time, where they lie. Whatever leaves its list before that is shown
//! then: a root of a flip when the next flip releases it (`release`), which comes before discovery can end; and what
//! waits for its finalizer when that runs ([`Heap::take_waiting`]). So neither a flip nor the beginning of a mark goes
//! through all of them. `[BOUND]` From there on it takes what comes first: a marked object, a chunk of a large
//! one, an entry of the running log. Objects marked and not visited are on a stack, or *overflowed*: when the stack
//! cannot grow (there is no memory, or `HeapOptions::list_entries_max` says so) the object is marked and forgotten, and
//! once the stack is empty all blocks are looked through for marked objects, and these visited again. A round of that
//! cannot be in vain: it marks what the forgotten refer to. (Knuth, The Art of Computer Programming 1, §2.3.5,
//! algorithm C; Jones, Hosking & Moss, The Garbage Collection Handbook, §2.4.)
//!
//! Between the stack and its visit each object passes through a short queue, in which its line is fetched.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::plan::deferred::mark::{Mark, may_follow_logged_words};
use crate::prefetch_queue::PrefetchQueue;
use crate::slice::{CHUNK_UNITS, OBJECTS_PER_STEP};
use tally_heap::memory::list::List;
use tally_heap::memory::range::MARK;
use tally_heap::object::flag;
use tally_heap::plan::deferred::count::STUCK;
use tally_heap::plan::deferred::log::LogCursor;
use tally_heap::plan::deferred::mature::MatureWalk;
use tally_heap::services::ephemeron::EPHEMERONS_AT_ONCE;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// The cursors of a mark that discovers.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    log_at: LogCursor,
    /// As many of the flip's roots, from the first, are still to be shown; none after the next flip, which has others.
    roots_left: usize,
    /// The same of what weak slots have yielded since the flip.
    upgraded_left: usize,
    /// The same of what finalizers have run for since the flip.
    done_left: usize,
    /// Objects held as if by roots, but for those that wait for their finalizers.
    held: List<ObjectRef>,
    /// Where the search for marked objects that were not visited is.
    search_at: Option<MatureWalk>,
}

impl Discovery {
    /// False when there is no memory for the held objects.
    pub(crate) fn begin(&mut self, heap: &mut Heap, roots: usize) -> bool {
        self.forget(heap);
        (self.roots_left, self.upgraded_left) = (roots, heap.services.specials.upgraded.len());
        self.done_left = heap.services.finalizers.done.len();
        heap.services.finalizers.unshown = heap.services.finalizers.queue.len();
        let held = || heap.services.held_beside_lists();
        if !self.held.try_reserve(held().count()) {
            return false;
        }
        self.held.extend(held());
        true
    }

    /// The mark is given up, or has not begun.
    pub(crate) fn forget(&mut self, heap: &mut Heap) {
        self.flip();
        self.held.clear();
        self.search_at = None;
        heap.deferred.mark_overflowed = false;
        heap.services.finalizers.unshown = 0;
    }

    /// The running log was swapped for an empty one; the references in the lists are shown when they are released.
    pub(crate) fn flip(&mut self) {
        self.log_at = LogCursor::default();
        (self.roots_left, self.upgraded_left, self.done_left) = (0, 0, 0);
    }
}

impl DeferredDriver {
    /// Does up to `units` of discovery; `None` when it must wait for the epoch's passes.
    pub(crate) fn discover(&mut self, heap: &mut Heap, units: i64) -> Option<i64> {
        let mut spent = 0;
        let mut soon = PrefetchQueue::default();
        let (is_for_finalizers, mut awaited) = (self.mark.finalizable_found, 0);
        let must_wait = loop {
            if spent >= units {
                break false;
            }
            if let Some(object) = soon.next(|| heap.mark_stack.pop()) {
                if object.has(flag::LARGE) {
                    awaited += if is_for_finalizers { heap.large.cell_of(object) } else { 0 };
                    spent += enter_large(heap, object, &mut self.mark.large);
                    continue;
                }
                spent += visit_small(heap, object, &mut self.mark.large);
                if is_for_finalizers {
                    awaited += object.type_info().cell_bytes_of(object);
                    if self.mark.looks_for_owners {
                        note_owned(object, Part::Whole);
                    }
                }
            } else if let Some(shown) = self.show_roots(heap) {
                spent += shown;
            } else if let Some((object, chunk)) = self.mark.large.pop() {
                if chunk + 1 < heap.large.stamps(object).len() as u64 {
                    self.mark.large.push((object, chunk + 1));
                }
                spent += 2 + show_part(heap, object, Part::Chunk(chunk));
                if self.mark.looks_for_owners {
                    note_owned(object, Part::Chunk(chunk));
                }
            } else if let Some(read) = self.read_running_log(heap) {
                spent += read;
            } else if !matches!(self.phase, Phase::Idle | Phase::Try) || self.has_deaths(heap) {
                // An object that waits to be taken apart may have a finalizer, for which all that it holds is alive.
                break true;
            } else if let Some(searched) = self.search_for_marked(heap) {
                spent += searched;
            } else {
                match look_at_ephemerons(heap, &mut self.mark.large) {
                    Some(looked) => spent += looked,
                    None => {
                        spent += 1;
                        self.end_discovery(heap);
                        break false;
                    }
                }
            }
        };
        soon.drain().for_each(|object| heap.push_marked(object));
        self.mark.found.awaited += awaited;
        (!must_wait || spent > 0).then_some(spent)
    }

    /// Shows a few of the roots; `None` when all were.
    pub(crate) fn show_roots(&mut self, heap: &mut Heap) -> Option<i64> {
        let mut shown = 0;
        while shown < OBJECTS_PER_STEP
            && let Some(root) = self.next_root(heap)
        {
            heap.show_to_mark(root);
            shown += 1;
        }
        (shown > 0).then_some(shown as i64)
    }

    /// The next root that was not shown.
    fn next_root(&mut self, heap: &mut Heap) -> Option<ObjectRef> {
        let Discovery { roots_left, upgraded_left, done_left, held, .. } = &mut self.mark.discovery;
        let last = |list: &[ObjectRef], left: &mut usize| {
            *left = left.checked_sub(1)?;
            Some(list[*left])
        };
        last(&self.roots, roots_left)
            .or_else(|| last(&heap.services.specials.upgraded, upgraded_left))
            .or_else(|| last(&heap.services.finalizers.done, done_left))
            .or_else(|| last(&heap.services.finalizers.queue, &mut heap.services.finalizers.unshown))
            .or_else(|| held.pop())
    }

    /// When marked objects were forgotten, visits all marked objects of a part of a block, or one large object, once more;
    /// `None` when all were.
    fn search_for_marked(&mut self, heap: &mut Heap) -> Option<i64> {
        let Mark { discovery, large, .. } = &mut self.mark;
        let mut walk = match discovery.search_at {
            Some(walk) => walk,
            None if std::mem::take(&mut heap.deferred.mark_overflowed) => MatureWalk::default(),
            None => return None,
        };
        let found = heap.walk_mature(&mut walk, CHUNK_UNITS, |heap, object| match is_marked(object) {
            true if object.has(flag::LARGE) => enter_large(heap, object, large),
            true => 1 + visit_small(heap, object, large),
            false => 1,
        });
        // At the end: others may have been forgotten meanwhile.
        discovery.search_at = found.map(|_| walk);
        Some(found.unwrap_or(1))
    }

    /// Shows the mark what the next entry's slots held at the flip; `None` at the end of the log.
    fn read_running_log(&mut self, heap: &mut Heap) -> Option<i64> {
        let mut log = std::mem::take(&mut heap.deferred.log);
        let spent = log.next(&mut self.mark.discovery.log_at).map(|entry| {
            let info = entry.object.type_info();
            if may_follow_logged_words(entry.object) {
                info.for_each_reference_in_snapshot(entry.object, entry.part, entry.words, |target| {
                    heap.show_to_mark(target);
                });
            }
            1 + entry.words.len() as i64
        });
        heap.deferred.log = log;
        spent
    }
}

/// Marked, and not known to be dead: an object that died by counting since has shown its references.
fn is_marked(object: ObjectRef) -> bool {
    MARK.get(object.granule()) && !object.is_known_dead()
}

/// A large object was marked: its chunks are visited one by one.
fn enter_large(heap: &mut Heap, object: ObjectRef, large: &mut List<(ObjectRef, u64)>) -> i64 {
    let (waits, spent) = visit_special(heap, object, large);
    if !waits {
        heap.deferred.mark_overflowed |= !large.try_push((object, 0));
    }
    2 + spent
}

/// A marked object that is not large.
#[inline(always)]
fn visit_small(heap: &mut Heap, object: ObjectRef, large: &mut List<(ObjectRef, u64)>) -> i64 {
    let mut spent = 2;
    if object.has(flag::SPECIAL) {
        let (waits, values) = visit_special(heap, object, large);
        spent += values;
        if waits {
            return spent;
        }
    }
    spent + show_part(heap, object, Part::Whole)
}

/// What hangs on a special object as a key is alive. Returns whether the object is not to be followed now, because it is an ephemeron,
/// which is looked at together with others, or because it comes again for more of what hangs on it; and what that cost.
fn visit_special(heap: &mut Heap, object: ObjectRef, large: &mut List<(ObjectRef, u64)>) -> (bool, i64) {
    if !object.has(flag::SPECIAL) {
        return (false, 0);
    }
    if object.type_info().ephemeron {
        heap.services.specials.held_back.push(object);
        let enough = heap.ephemerons_to_look_at() >= EPHEMERONS_AT_ONCE;
        return (true, if enough { look_at_ephemerons(heap, large).unwrap_or(0) } else { 0 });
    }
    let (spent, all) = heap.visit_values_of_key(object, Heap::show_to_mark);
    if !all {
        heap.push_marked(object);
    }
    (!all, spent)
}

/// Some of the ephemerons that the mark has come to are followed, or held back. Returns what that cost; `None` when there are none.
fn look_at_ephemerons(heap: &mut Heap, large: &mut List<(ObjectRef, u64)>) -> Option<i64> {
    heap.look_at_ephemerons(|heap, ephemeron| {
        if ephemeron.has(flag::LARGE) {
            heap.deferred.mark_overflowed |= !large.try_push((ephemeron, 0));
            return 2;
        }
        show_part(heap, ephemeron, Part::Whole)
    })
}

/// The objects visited now hang on objects that wait for their finalizers. One of these that they refer to is owned;
/// where the count is stuck it does not say so.
#[cold]
fn note_owned(object: ObjectRef, part: Part) {
    object.type_info().for_each_reference(object, part, |target| {
        if target.count() == STUCK && target.needs_finalizer() {
            target.add_flags(flag::FOUND);
        }
    });
}

fn show_part(heap: &mut Heap, object: ObjectRef, part: Part) -> i64 {
    let mut references = 0;
    object.type_info().for_each_reference(object, part, |target| {
        references += 1;
        heap.show_to_mark(target);
    });
    references
}
