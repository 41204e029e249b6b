//! Types of the runtime's own objects, as the services make them.

use crate::descriptor::TypeDescriptor;
use crate::type_registry::{TypeInfo, register};

/// A weak reference: its slot.
static WEAK: TypeDescriptor = TypeDescriptor::plain(c"weak reference", 8, &[]);

/// The type of weak references.
pub fn weak() -> &'static TypeInfo {
    registered(&WEAK)
}

/// An ephemeron: value and key, as `ephemeron` says.
static EPHEMERON: TypeDescriptor = TypeDescriptor::plain(c"ephemeron", 16, &[0]).ephemeron();

/// The type of ephemerons.
pub fn ephemeron() -> &'static TypeInfo {
    registered(&EPHEMERON)
}

fn registered(descriptor: &'static TypeDescriptor) -> &'static TypeInfo {
    register(descriptor).expect("a type of the runtime's own is in order, and a heap has reserved the range").info()
}
