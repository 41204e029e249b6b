//! Mutators and objects for suites that drive a heap from Rust, without an oracle.

use tally_collector::Mutator;
use tally_collector::root_source::RootSource;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::memory::range::RangeError;
use tally_heap::{HeapOptions, ObjectRef, TypeId, type_registry};

/// Two references and a number.
pub static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);

/// A heap for a test. Here alone a test promises to use references as `[HELD]` says.
///
/// # Errors
/// [`RangeError`] when the heap range cannot be reserved.
pub fn new_mutator(options: HeapOptions) -> Result<Mutator, RangeError> {
    // SAFETY: [HELD] the suites root what they use after a safepoint, or look at addresses only.
    unsafe { Mutator::new(options) }
}

/// The same beside frames that `stack` knows.
///
/// # Errors
/// [`RangeError`] when the heap range cannot be reserved.
pub fn new_mutator_with(options: HeapOptions, stack: Box<dyn RootSource>) -> Result<Mutator, RangeError> {
    // SAFETY: [HELD] as above; a suite's frames hold what it uses.
    unsafe { Mutator::with_stack(options, stack) }
}

/// Inside a finalizer: calls `run` with the mutator whose collector has called it. `None` outside.
pub fn in_finalizer<T>(run: impl FnOnce(&mut Mutator) -> T) -> Option<T> {
    // SAFETY: [HELD] as above; no suite replaces the mutator.
    unsafe { Mutator::in_finalizer(run) }
}

/// The type of a descriptor.
pub fn type_of(descriptor: &'static TypeDescriptor) -> TypeId {
    type_registry::register(descriptor).expect("a sound descriptor")
}

/// Writes a reference, or none, to the field at `offset`.
pub fn set(m: &mut Mutator, object: ObjectRef, offset: u64, target: Option<ObjectRef>) {
    m.write(object, object.slot(offset), target.map_or(0, ObjectRef::address));
}

/// Nothing is left of a heap whose roots let go of everything, and nothing is known of what was there.
///
/// # Panics
/// When an object or a record of one is left.
#[track_caller]
pub fn nothing_is_left(m: &mut Mutator) {
    m.truncate_roots(0);
    m.collect();
    m.collect();
    assert_eq!(m.live_objects(), []);
    assert!(m.heap().services.specials.is_empty());
}
