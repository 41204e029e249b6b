//! A heap of the trace plan looked over after a collection: references lead to survivors, and the counters say what is
//! there.

use crate::recount::{check_acyclic, name, wrong};
use tally_heap::memory::range::{LIVE, MARK};
use tally_heap::object::flag;
use tally_heap::report::violation::Violation;
use tally_heap::visit::Part;
use tally_heap::{Heap, ObjectRef};

/// Looks the heap over. Call it right after a collection, before anything is allocated.
///
/// # Errors
/// The first [`Violation`].
pub(super) fn verify(heap: &mut Heap) -> Result<(), Violation> {
    let (mut objects, mut bytes, mut fault) = (vec![], 0, None);
    heap.for_each_mature(|_, object| {
        objects.push(object);
        bytes += object.type_info().cell_bytes_of(object);
        object.type_info().for_each_reference(object, Part::Whole, |target| {
            if !is_live(target) {
                let what = format!("{} refers to {target:?}, which is not live", name(object));
                fault.get_or_insert(wrong("HEADER", what));
            }
        });
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
    let (said, found) = ((heap.statistics.live_objects, heap.statistics.live_bytes), (objects.len() as u64, bytes));
    if said != found {
        let what = format!("statistics say (objects, bytes) = {said:?}, the heap holds {found:?}");
        return Err(wrong("COUNT", what));
    }
    Ok(())
}

fn is_live(object: ObjectRef) -> bool {
    object.is_mature() && !object.has(flag::DEAD) && (object.has(flag::LARGE) || LIVE.get(object.granule()))
}
