//! The heap recounted from scratch: a second opinion on everything the passes maintain incrementally.
//!
//! Runs after an epoch in zeal and in tests, when no pass is half done and the running log is empty. It visits every
//! mature object, adds up what it finds, and compares: counts (`COUNT`), stamps and unlogged bits (`LOG`), that
//! references lead to live objects (`HEADER`), the candidate buffer (`CANDIDATE`), the trial scratch (`TRIAL`),
//! statistics, and that no object of an acyclic type is part of a cycle.
//!
//! It shares the visitor with the passes, and nothing else; `tests/` has a recount that does not share even that.

use crate::plan::deferred::DeferredDriver;
use crate::plan::deferred::epoch::Phase;
use crate::recount::{check_acyclic, check_statistics, is_live, name, wrong};
use rustc_hash::{FxHashMap, FxHashSet};
use tally_heap::memory::range::{BUFFERED, UNLOGGED, trial_cell};
use tally_heap::object::flag;
use tally_heap::plan::deferred::count::STUCK;
use tally_heap::report::violation::Violation;
use tally_heap::type_registry::{Reading, Tracer};
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// The findings of the recount.
#[derive(Default)]
struct Recount {
    objects: Vec<ObjectRef>,
    expected: FxHashMap<ObjectRef, u64>,
    live_bytes: u64,
    mature: u64,
}

impl DeferredDriver {
    /// Recounts the heap. Call it right after an epoch's passes are done.
    ///
    /// # Errors
    /// The first [`Violation`].
    pub(crate) fn verify_quiet(&self, heap: &mut Heap) -> Result<(), Violation> {
        let logged = heap.deferred.log.entries != heap.entries_of_open_objects();
        if self.phase != Phase::Idle || self.has_deaths(heap) || logged {
            return Err(wrong("PENDING", "verification was asked for while an epoch's passes are running".to_owned()));
        }
        let released: FxHashSet<ObjectRef> =
            heap.deferred.late_queue.iter().chain(heap.deferred.dead_queue.iter()).copied().collect();
        let mut recount = Recount::default();
        let roots = self.roots.iter().chain(&heap.services.specials.upgraded).copied();
        for root in roots.chain(heap.services.held_by_counts()) {
            *recount.expected.entry(root).or_default() += 1;
        }
        let mut fault = None;
        heap.for_each_mature(|_, object| {
            recount.mature += 1;
            recount.live_bytes += object.type_info().cell_bytes_of(object);
            if released.contains(&object) {
                return;
            }
            recount.objects.push(object);
            object.type_info().for_each_reference(object, Part::Whole, |target| {
                *recount.expected.entry(target).or_default() += 1;
                if !is_live(target) || released.contains(&target) {
                    let what = format!("{} refers to {target:?}, which is not live", name(object));
                    fault.get_or_insert(wrong("HEADER", what));
                }
            });
        });
        fault.map_or(Ok(()), Err)?;
        check_objects(heap, &recount)?;
        check_candidates(heap, &recount)?;
        check_acyclic(&recount.objects)?;
        check_statistics(heap, (recount.mature, recount.live_bytes))
    }
}

fn check_objects(heap: &mut Heap, recount: &Recount) -> Result<(), Violation> {
    for &object in &recount.objects {
        let expected = recount.expected.get(&object).copied().unwrap_or(0);
        let count = object.count();
        if count != STUCK && count as u64 != expected {
            let what = format!("{} has count {count}, and {expected} references lead to it", name(object));
            return Err(wrong("COUNT", what));
        }
        if count == 0 {
            return Err(wrong("RECLAIM", format!("{} has count 0 and is on no queue", name(object))));
        }
        let large = object.has(flag::LARGE);
        let clean = if large { heap.large.stamps(object).iter().all(|&stamp| stamp == 0) } else { object.stamp() == 0 };
        if heap.is_open(object) {
            if clean || is_armed(object) {
                return Err(wrong("LOG", format!("{} is open and not logged", name(object))));
            }
        } else if !clean || !is_armed(object) {
            return Err(wrong("LOG", format!("{} is not clean although the log is empty", name(object))));
        }
        // SAFETY: the trial table of the reserved range is mapped.
        if unsafe { *trial_cell(object.address()) } != 0 {
            return Err(wrong("TRIAL", format!("{} has a place in a trial that is over", name(object))));
        }
    }
    match recount.expected.keys().find(|&&target| !is_live(target)) {
        Some(target) => Err(wrong("ROOT", format!("a root holds {target:?}, which is not live"))),
        None => Ok(()),
    }
}

/// Whether a write to any of its references would be logged.
fn is_armed(object: ObjectRef) -> bool {
    let info = object.type_info();
    match info.reading {
        Reading::Traced(Tracer::Function(_)) => UNLOGGED.get(object.granule()),
        _ => info.reference_slots(object).iter().all(|slot| UNLOGGED.get(slot.granule())),
    }
}

fn check_candidates(heap: &Heap, recount: &Recount) -> Result<(), Violation> {
    let buffered: FxHashSet<ObjectRef> = heap.candidates.iter().copied().collect();
    for &object in &recount.objects {
        if BUFFERED.get(object.granule()) && !buffered.contains(&object) {
            return Err(wrong("CANDIDATE", format!("{} is marked as buffered and is not in the buffer", name(object))));
        }
    }
    Ok(())
}
