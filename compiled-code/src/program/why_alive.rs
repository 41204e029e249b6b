//! `--why TYPE`: at exit, the objects of a type that are still reachable, and why.
//!
//! The program's frames are gone then: what holds an object is a global variable, a handle, or a finalizer that never
//! runs. Paths are shown to the objects that are reached without passing through others of the type: of a list, to the
//! first node.

use crate::module::registry;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::ops::ControlFlow;
use tally_heap::services::alloc_site::text_of_site;
use tally_heap::services::reach;
use tally_heap::{Heap, ObjectRef};

/// Paths in a report, at most: those to the nearest objects.
const PATHS: u64 = 10;

/// The object's allocation site, as a line of a report.
pub(crate) fn where_allocated(heap: &Heap, object: ObjectRef) -> String {
    heap.alloc_site(object).map_or_else(String::new, |site| format!("    allocated {}\n", text_of_site(&site)))
}

/// Prints why objects of the types of that name are alive.
pub(crate) fn report(heap: &Heap, type_name: &str, when: &str) {
    let (mut objects, mut first, mut paths) = (0_u64, 0_u64, String::new());
    // Reached through an object of the type, or one itself.
    let mut behind: FxHashSet<ObjectRef> = FxHashSet::default();
    registry::take_names();
    heap.reach(&mut |_| (), |reach, object| {
        let is_one = &*object.type_info().name == type_name;
        let is_behind = reach.holder_of(object).is_some_and(|holder| behind.contains(&holder));
        if is_one || is_behind {
            behind.insert(object);
        }
        objects += u64::from(is_one);
        if is_one && !is_behind {
            first += 1;
            if first <= PATHS {
                _ = write!(
                    paths,
                    "  {first}.\n{}{}",
                    reach::text(&reach.path_to(object)),
                    where_allocated(heap, object)
                );
            }
        }
        ControlFlow::Continue(())
    });
    match objects {
        0 => tally_heap::tell_line!("tally: no `{type_name}` is reachable {when}"),
        1 => tally_heap::tell!("tally: 1 `{type_name}` is reachable {when}:\n{paths}"),
        _ => {
            tally_heap::tell!(
                "tally: {objects} `{type_name}` are reachable {when}, {first} of them not through others:\n{paths}"
            )
        }
    }
    if first > PATHS {
        tally_heap::tell_line!("  and {} more", first - PATHS);
    }
}
