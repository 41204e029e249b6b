//! A heap of the trace plan looked over after a collection: references lead to survivors, and the counters say what is
//! there.

use crate::recount::{check_acyclic, check_statistics, is_live, name, wrong};
use tally_heap::Heap;
use tally_heap::memory::range::MARK;
use tally_heap::report::violation::Violation;
use tally_heap::visit::Part;

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
    check_statistics(heap, (objects.len() as u64, bytes))
}
