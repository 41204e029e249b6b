//! Types of the runtime's own objects, as the services make them.

use crate::descriptor::TypeDescriptor;
use crate::object::ObjectRef;
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

/// A weak reference with a callback: slot and callback.
static WEAK_WITH_CALLBACK: TypeDescriptor = TypeDescriptor::plain(c"weak reference with callback", 16, &[]);

/// `void callback(void *weak)`: the target of a weak reference is gone.
pub type Callback = crate::finalizer::Finalizer;
/// Where the callback of a weak reference stands.
pub const CALLBACK: u64 = 8;

/// The type of weak references with callbacks.
pub fn weak_with_callback() -> &'static TypeInfo {
    registered(&WEAK_WITH_CALLBACK)
}

/// The callback of a weak reference, if it has one.
pub fn callback_of(object: ObjectRef) -> Option<Callback> {
    if object.type_info().id != weak_with_callback().id {
        return None;
    }
    let word = object.slot(CALLBACK).read() as usize;
    // SAFETY: what `new_weak_with` has stored there, or 0.
    unsafe { std::mem::transmute::<usize, Option<Callback>>(word) }
}

/// Whether something is to be done when a weak reference in the object was cleared.
pub fn has_errand(object: ObjectRef) -> bool {
    object.type_info().id == weak_with_callback().id
}

fn registered(descriptor: &'static TypeDescriptor) -> &'static TypeInfo {
    register(descriptor).expect("a type of the runtime's own is in order, and a heap has reserved the range").info()
}
