//! A prompt heap recounted from scratch. `[EXACT]` `[PENDING]` `[CANDIDATE]`
//!
//! With nothing of compiled code on the stack an object's count is exactly the number of references in objects, in what
//! dying objects still hold, in globals and host roots, and in frames of which each root owns a count. While compiled code runs, a count is at least the references from
//! objects, and what is more is at most the root slots that name the object, plus what is in flight in registers: slots that
//! borrow are not counted, so the bound is not exact. Frames that `longjmp` has skipped add what they may have left behind
//! (`left_behind`).

mod running;

use crate::recount::{check_acyclic, wrong};
use crate::root_source::{NoStack, RootList, RootSource};
use rustc_hash::{FxHashMap, FxHashSet};
use tally_heap::memory::list::List;
use tally_heap::memory::range::{BUFFERED, MARK};
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::CellSpace;
use tally_heap::report::violation::Violation;
use tally_heap::{Heap, ObjectRef};

#[derive(Default)]
struct Recount {
    objects: Vec<ObjectRef>,
    from_heap: FxHashMap<ObjectRef, u64>,
    from_roots: FxHashMap<ObjectRef, u64>,
}

/// Recounts a heap on which no compiled code runs.
///
/// # Errors
/// The first [`Violation`].
pub fn verify(heap: &mut Heap) -> Result<(), Violation> {
    verify_beside(heap, &mut NoStack)
}

/// The same where each root of a frame owns a count.
pub(super) fn verify_beside(heap: &mut Heap, stack: &mut dyn RootSource) -> Result<(), Violation> {
    let mut recount = recount(heap)?;
    let mut roots = RootList::after(List::new());
    stack.visit(heap, &mut roots);
    roots.into_objects().iter().for_each(|&root| *recount.from_roots.entry(root).or_default() += 1);
    for &object in &recount.objects {
        let count = u64::from(object.exact_count());
        let expected = recount.heap(object) + recount.roots(object);
        if !object.is_stuck() && count != expected {
            let what = format!("{} has count {count}, and {expected} references lead to it", name(object));
            return Err(wrong("EXACT", what));
        }
    }
    check_garbage(heap, &recount)?;
    check_statistics(heap, &recount)
}

impl Recount {
    /// The part of each object's count that no object accounts for.
    fn unaccounted(&self) -> impl Iterator<Item = (ObjectRef, u64)> {
        let counted = self.objects.iter().filter(|object| !object.is_stuck());
        counted.map(|&object| (object, u64::from(object.exact_count()).saturating_sub(self.heap(object))))
    }

    fn heap(&self, object: ObjectRef) -> u64 {
        self.from_heap.get(&object).copied().unwrap_or(0)
    }

    fn roots(&self, object: ObjectRef) -> u64 {
        self.from_roots.get(&object).copied().unwrap_or(0)
    }
}

fn recount(heap: &mut Heap) -> Result<Recount, Violation> {
    heap.apply_postponed();
    let mut recount = Recount::default();
    heap.for_each_counted(|_, object| recount.objects.push(object));
    let alive: FxHashSet<ObjectRef> = recount.objects.iter().copied().collect();
    for &object in &recount.objects {
        let mut fault = None;
        Heap::for_each_counted_reference(object, |target| {
            *recount.from_heap.entry(target).or_default() += 1;
            if !alive.contains(&target) {
                let what = format!("{} refers to {target:?}, which is not live", name(object));
                fault.get_or_insert(wrong("HEADER", what));
            }
        });
        fault.map_or(Ok(()), Err)?;
    }
    heap.for_each_condemned_reference(|target| *recount.from_heap.entry(target).or_default() += 1);
    heap.prompt.for_each_dying_reference(|target| *recount.from_heap.entry(target).or_default() += 1);
    let mut held = |root| *recount.from_roots.entry(root).or_default() += 1;
    heap.for_each_host_reference(&mut held);
    heap.services.held_by_counts().chain(heap.prompt.address_taken.held()).for_each(&mut held);
    heap.for_each_global_reference(|root, _| held(root));
    if let Some(lost) = recount.from_heap.keys().chain(recount.from_roots.keys()).find(|&root| !alive.contains(root)) {
        return Err(wrong("ROOT", format!("a root, or a dying object, holds {lost:?}, which is not live")));
    }
    check_pending(heap, &recount)?;
    check_candidates(heap, &recount)?;
    check_acyclic(&recount.objects)?;
    Ok(recount)
}

fn check_pending(heap: &mut Heap, recount: &Recount) -> Result<(), Violation> {
    let once: FxHashSet<ObjectRef> = heap.pending_objects().collect();
    if once.len() != heap.pending_objects().count() {
        return Err(wrong("PENDING", "an object is on the pending list twice".to_owned()));
    }
    for &object in &recount.objects {
        let flagged = object.has(prompt_flag::PENDING);
        if flagged != once.contains(&object) {
            let what = format!(
                "{} is {}on the pending list against its flag",
                name(object),
                if flagged { "not " } else { "" }
            );
            return Err(wrong("PENDING", what));
        }
        // Objects that a mark has proved dead lose the references of ephemerons without a note.
        let condemns = heap.mark_phase().condemns() || heap.mark_phase().frees();
        let condemned = condemns && !MARK.get(object.granule());
        if object.exact_count() == 0 && !flagged && !condemned {
            return Err(wrong("PENDING", format!("{} has count 0 and is not pending", name(object))));
        }
    }
    Ok(())
}

fn check_candidates(heap: &Heap, recount: &Recount) -> Result<(), Violation> {
    for &object in &recount.objects {
        let (flagged, buffered) = (object.has(prompt_flag::CANDIDATE), BUFFERED.get(object.granule()));
        if buffered && !flagged {
            return Err(wrong("CANDIDATE", format!("{} has a bit that its flags deny", name(object))));
        }
        let noted = flagged || object.has(prompt_flag::ACYCLIC) || CellSpace::is_young(object);
        if object.is_settled() && !noted {
            return Err(wrong("CANDIDATE", format!("{} is settled, and nothing will judge it", name(object))));
        }
    }
    let flagged = recount.objects.iter().filter(|object| BUFFERED.get(object.granule())).count();
    if heap.candidates.len() + heap.prompt.candidates_elsewhere < flagged {
        return Err(wrong("CANDIDATE", format!("{flagged} objects are marked as buffered, and fewer are")));
    }
    Ok(())
}

/// Every unreachable object hangs on garbage that some pass will judge.
fn check_garbage(heap: &mut Heap, recount: &Recount) -> Result<(), Violation> {
    if heap.prompt.passed_over.may_be_there() {
        return Ok(());
    }
    let mut reached: FxHashSet<ObjectRef> = FxHashSet::default();
    let mut roots: Vec<ObjectRef> = recount.from_roots.keys().copied().collect();
    roots.extend(heap.prompt.protected.iter());
    roots.extend(heap.pending_objects());
    heap.prompt.for_each_dying_reference(|object| roots.push(object));
    reach(&mut reached, roots);
    let alone: FxHashSet<ObjectRef> = heap.prompt.cells.nursery.alone().collect();
    let is_noted = |object: &ObjectRef| {
        let is_young = object.is_settled() && CellSpace::is_young(*object);
        let is_the_marks = object.is_stuck() || object.has(prompt_flag::LARGE);
        object.has(prompt_flag::CANDIDATE) || is_young || is_the_marks || alone.contains(object)
    };
    let is_suspected = |object: &ObjectRef| heap.mark_phase().watches() && !MARK.get(object.granule());
    let noted = recount.objects.iter().copied().filter(|object| is_noted(object) || is_suspected(object)).collect();
    reach(&mut reached, noted);
    match recount.objects.iter().find(|object| !reached.contains(object)) {
        Some(&lost) => Err(wrong("CANDIDATE", format!("{} is garbage, and nothing notes what holds it", name(lost)))),
        None => Ok(()),
    }
}

fn reach(reached: &mut FxHashSet<ObjectRef>, mut found: Vec<ObjectRef>) {
    found.retain(|&object| reached.insert(object));
    while let Some(object) = found.pop() {
        Heap::for_each_counted_reference(object, |target| {
            if reached.insert(target) {
                found.push(target);
            }
        });
    }
}

fn check_statistics(heap: &mut Heap, recount: &Recount) -> Result<(), Violation> {
    heap.refresh_statistics();
    let (said, found) = (heap.statistics.live_objects, recount.objects.len() as u64);
    let dying = heap.prompt.takes_apart();
    if said != found && !dying && !heap.mark_phase().frees() {
        return Err(wrong("EXACT", format!("statistics say {said} objects, the heap holds {found}")));
    }
    Ok(())
}

fn name(object: ObjectRef) -> String {
    format!("{object:?} ({})", object.type_info().name)
}
