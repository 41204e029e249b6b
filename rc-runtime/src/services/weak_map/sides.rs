//! The weak sides of an entry of a map with weak values, for those that follow or end them without a link (`special/bond.rs`).

use super::{Entry, WeakMode, object_of};
use crate::object::{ObjectRef, Slot};
use crate::services::builtin;
use crate::services::weak::WeakKind;

/// An entry of a map with weak values, or with both weak.
fn entry_of(object: ObjectRef) -> Option<Entry> {
    let mode = builtin::mode_of_entry(object)?;
    (mode != WeakMode::Keys).then_some(Entry { object, mode })
}

/// The slot of its value, and that of a key that is weak.
pub(crate) fn weak_sides(entry: ObjectRef) -> [Option<Slot>; 2] {
    let Some(entry) = entry_of(entry) else { return [None, None] };
    [Some(entry.value()), (entry.mode == WeakMode::Both).then(|| entry.key())]
}

/// The slot of the other side, if that is weak, too.
#[inline(always)]
pub(crate) fn other_side(entry: ObjectRef, slot: Slot) -> Option<Slot> {
    let entry = entry_of(entry).filter(|entry| entry.mode == WeakMode::Both)?;
    Some(if slot == entry.value() { entry.key() } else { entry.value() })
}

/// The weak side that the object is.
#[inline]
pub(crate) fn side_of(entry: ObjectRef, object: ObjectRef) -> Option<(Slot, WeakKind)> {
    let kinds = [WeakKind::Reference, WeakKind::Key];
    let mut sides = weak_sides(entry).into_iter().zip(kinds).filter_map(|(slot, kind)| Some((slot?, kind)));
    sides.find(|(slot, _)| slot.read() == object.address())
}

/// The value, if that is an object.
pub(crate) fn weak_value_of(entry: ObjectRef) -> Option<ObjectRef> {
    // SAFETY: [WEAK] what a weak map holds is a reference, or no address in the heap.
    weak_sides(entry)[0].and_then(|slot| unsafe { object_of(slot.read()) })
}

/// The key, if that is an object and weak.
pub(crate) fn weak_key_of(entry: ObjectRef) -> Option<ObjectRef> {
    // SAFETY: [WEAK] what a weak map holds is a reference, or no address in the heap.
    weak_sides(entry)[1].and_then(|slot| unsafe { object_of(slot.read()) })
}
