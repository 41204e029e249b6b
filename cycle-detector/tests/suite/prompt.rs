//! The prompt plan as a Rust host sees it: deaths at the last reference, in order; cycles; finalizers; limits.

mod cycles;
mod deaths;
mod finalizers;
mod held;
mod limits;
mod moves;
mod quick_drains;
mod random;
mod sliced_bounds;
mod sliced_candidates;
mod sliced_deaths;
mod sliced_large;
mod sliced_marks;
mod sliced_parts;
mod slices;
mod timed_slices;
mod young_objects;
mod young_piles;

use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::new_mutator;
pub use tally_kit::nodes::{set, type_of};

/// Two references and a number.
pub static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
/// No references.
pub static LEAF: TypeDescriptor = TypeDescriptor::plain(c"Leaf", 16, &[]);
/// An array of references.
pub static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

/// A prompt heap.
pub fn options() -> HeapOptions {
    HeapOptions { plan: Plan::Prompt, ..HeapOptions::default() }
}

/// The same as a mutator.
pub fn mutator() -> Mutator {
    new_mutator(options()).expect("address space")
}

/// A new node, in no root.
pub fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("room")
}

/// Several: an allocation is a safepoint, so those that come first are rooted meanwhile.
pub fn nodes<const N: usize>(m: &mut Mutator) -> [ObjectRef; N] {
    let base = m.root_count();
    let objects = std::array::from_fn(|_| {
        let object = node(m);
        m.push_root(Some(object));
        object
    });
    m.truncate_roots(base);
    objects
}

/// Objects alive.
pub fn live(m: &Mutator) -> u64 {
    m.statistics().live_objects
}
