//! Mutators and objects for suites that drive a heap from Rust, without an oracle.

use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::{ObjectRef, TypeId, type_registry};

/// Two references and a number.
pub static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

/// The type of a descriptor.
pub fn type_of(descriptor: &'static TypeDescriptor) -> TypeId {
    type_registry::register(descriptor).expect("a sound descriptor")
}

/// Writes a reference, or none, to the field at `offset`.
pub fn set(m: &mut Mutator, object: ObjectRef, offset: u64, target: Option<ObjectRef>) {
    m.write(object, object.slot(offset), target.map_or(0, ObjectRef::address));
}
