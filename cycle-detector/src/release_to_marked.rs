//! What both marks do with an object that they have proved dead: it releases the objects that live on.

use tally_heap::ObjectRef;
use tally_heap::memory::range::MARK;
use tally_heap::visit::Part;

/// Calls `decrement` with each marked object that a part of a dead one refers to; how many references that has.
pub(crate) fn release_to_marked(object: ObjectRef, part: Part, mut decrement: impl FnMut(ObjectRef)) -> i64 {
    let mut references = 0;
    object.type_info().for_each_reference(object, part, |target| {
        references += 1;
        if MARK.get(target.granule()) {
            decrement(target);
        }
    });
    references
}
