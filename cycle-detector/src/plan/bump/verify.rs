//! A heap that marks instead of counting, looked over after a collection: references lead to survivors, and the counters say what is
//! there.

use crate::recount::{check_acyclic, check_statistics, name, wrong};
use tally_heap::memory::range::{LIVE, MARK, UNLOGGED};
use tally_heap::object::flag;
use tally_heap::report::violation::Violation;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Looks the heap over. Call it right after a collection, before anything is allocated.
///
/// # Errors
/// The first [`Violation`].
pub(crate) fn verify(heap: &mut Heap) -> Result<(), Violation> {
    let (mut objects, mut bytes, mut fault) = (vec![], 0, None);
    let (ages, epoch) = (heap.survivors_age(), heap.clock.epoch);
    let is_live = |object| is_survivor(object, ages, epoch);
    heap.for_each_mature(|_, object| {
        objects.push(object);
        bytes += object.type_info().cell_bytes_of(object);
        object.type_info().for_each_reference(object, Part::Whole, |target| {
            if !is_live(target) {
                let what = format!("{} refers to {target:?}, which is not live", name(object));
                fault.get_or_insert(wrong("HEADER", what));
            }
        });
        if !ages && (object.count() != 0 || object.stamp() != epoch || UNLOGGED.get(object.granule())) {
            fault.get_or_insert(wrong("LOG", format!("{} is not as young as all others", name(object))));
        }
        if MARK.get(object.granule()) {
            fault.get_or_insert(wrong("TRIAL", format!("{} is marked, and no mark runs", name(object))));
        }
    });
    fault.map_or(Ok(()), Err)?;
    let mut root = None;
    heap.for_each_host_reference(|object| root = root.or((!is_live(object)).then_some(object)));
    heap.for_each_held(|object| root = root.or((!is_live(object)).then_some(object)));
    if let Some(object) = root {
        return Err(wrong("ROOT", format!("a root holds {object:?}, which is not live")));
    }
    check_acyclic(&objects)?;
    check_statistics(heap, (objects.len() as u64, bytes))
}

/// Whether the object is one that the last collection has left, mature, or young where all are; or one that was allocated while it went
/// in slices.
fn is_survivor(object: ObjectRef, ages: bool, epoch: u32) -> bool {
    if ages && !object.is_mature() {
        return object.stamp() == epoch && !object.has(flag::DEAD);
    }
    let is_there = object.has(flag::LARGE) || LIVE.get(object.granule());
    is_there && object.is_mature() == ages && !object.has(flag::DEAD)
}
