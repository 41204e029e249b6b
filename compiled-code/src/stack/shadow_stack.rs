//! Roots of code that LLVM's own `shadow-stack` strategy compiled.
//!
//! Such code links its frames' roots into a list whose head is the symbol `llvm_gc_root_chain`; it brings a weak
//! definition of its own, and the runtime has the strong one:
//!
//! ```text
//! llvm_gc_root_chain ─► entry { next, map, roots… } ─► caller's entry ─► … ─► null      on the stack
//!                                     └─► map { i32 roots, i32 metas, ptr meta… }       a constant
//! ```
//!
//! The head is one variable for the whole process, so one thread at a time runs such code. A thread follows the chain
//! only while it lies on its own stack. `[ADVANCE]` Entries of callers lie above those of callees, or the walk stops.
//!
//! A root with metadata is read as that descriptor says and takes its size, rounded up to 8 bytes; one without is a
//! word. (LLVM 22, `ShadowStackGCLowering.cpp`: roots with metadata come first, and each has its alloca's type.)

use crate::stack::plain_root::visit_plain_root;
use std::collections::HashMap;
use tally_heap::ObjectRef;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::fatal::{self, STATUS_USAGE};
use tally_heap::type_registry::{self, TypeInfo};

/// The frames' roots, innermost first.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is LLVM's")]
pub static mut llvm_gc_root_chain: *const Entry = std::ptr::null();

/// The roots of one frame.
#[repr(C)]
#[derive(Debug)]
pub struct Entry {
    next: *const Entry,
    map: *const FrameMap,
    roots: [u64; 0],
}

/// The constant that describes an entry.
#[repr(C)]
#[derive(Debug)]
struct FrameMap {
    root_count: i32,
    meta_count: i32,
    meta: [*const TypeDescriptor; 0],
}

/// Calls `visit` with the slot and the descriptor, or null, of every root in the chain, if it lies in `stack`.
///
/// # Safety
/// The range is the calling thread's stack, and code that LLVM emitted links its entries.
pub unsafe fn visit(stack: std::ops::Range<u64>, mut visit: impl FnMut(u64, *const TypeDescriptor)) -> u64 {
    let chain = &raw const llvm_gc_root_chain;
    // SAFETY: a word; if another thread changes it meanwhile, its value is not on this stack.
    let mut entry = unsafe { chain.read_volatile() };
    let (mut above, mut visited) = (stack.start, 0);
    while (above..stack.end).contains(&(entry as u64)) {
        // SAFETY: an entry on this thread's stack was linked by a frame that is still there, with a map that LLVM
        // emitted.
        let linked = unsafe { &*entry };
        // SAFETY: an entry on this thread's stack was linked by a frame that is still there, with a map that LLVM
        // emitted.
        let map = unsafe { &*linked.map };
        let mut slot = &raw const linked.roots as u64;
        for index in 0..map.root_count {
            let described = index < map.meta_count;
            let place = (&raw const map.meta).cast::<*const TypeDescriptor>().wrapping_add(index as usize);
            // SAFETY: one of as many as the map says.
            let meta = if described { unsafe { *place } } else { std::ptr::null() };
            visit(slot, meta);
            // SAFETY: [DESCRIPTOR] null, or a descriptor of the module.
            let how = unsafe { meta.as_ref() };
            slot += how.map_or(8, |how| how.size.next_multiple_of(8).max(8));
            visited += 1;
        }
        above = entry as u64 + 1;
        entry = linked.next;
    }
    visited
}

/// The types by which the shadow stack's roots are read, by descriptor.
#[derive(Debug, Default)]
pub(crate) struct ShadowTypes(HashMap<u64, TypeInfo>);

impl ShadowTypes {
    /// Calls `found` with each object that the root refers to.
    pub(crate) fn visit_root(&mut self, slot: u64, meta: *const TypeDescriptor, found: impl FnMut(ObjectRef)) {
        // SAFETY: the metadata of a root is null or a descriptor.
        let Some(descriptor) = (unsafe { meta.as_ref() }) else { return visit_plain_root(slot, found) };
        let how = self.0.entry(meta as u64).or_insert_with(|| match type_registry::describe(descriptor) {
            Ok(info) => info,
            Err(error) => fatal::stop(STATUS_USAGE, &format!("metadata of a root on the shadow stack: {error}")),
        });
        // SAFETY: [ROOT] a root that this type describes.
        unsafe { how.for_each_reference_in_root(slot, found) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[repr(C)]
    struct Linked {
        entry: Entry,
        roots: [u64; 3],
    }

    #[repr(C)]
    struct Map {
        map: FrameMap,
        meta: [*const TypeDescriptor; 1],
    }

    #[test]
    fn chain_is_followed_while_it_lies_on_the_stack_and_rises() {
        let pair = TypeDescriptor::plain(c"Pair", 16, &[0, 8]);
        let map = Map { map: FrameMap { root_count: 2, meta_count: 1, meta: [] }, meta: [&raw const pair] };
        let mut frames: [Linked; 3] = std::array::from_fn(|_| Linked {
            entry: Entry { next: null(), map: (&raw const map).cast(), roots: [] },
            roots: [0; 3],
        });
        let frames = frames.as_mut_ptr();
        // SAFETY: one of the three.
        let at = |place: usize| unsafe { &raw const (*frames.wrapping_add(place)).entry };
        // SAFETY: one of the three; nothing reads it meanwhile.
        let link = |place: usize, next: *const Entry| unsafe { (*frames.wrapping_add(place)).entry.next = next };
        link(0, at(1));
        link(1, at(2));
        let seen = |head: *const Entry, stack: std::ops::Range<u64>| {
            // SAFETY: no other code of this test process uses the chain.
            unsafe { llvm_gc_root_chain = head };
            let mut slots = vec![];
            // SAFETY: the stack of this thread.
            let count = unsafe { visit(stack, |slot, meta| slots.push((slot, meta))) };
            // SAFETY: the stack of this thread.
            unsafe { llvm_gc_root_chain = null() };
            assert_eq!(count, slots.len() as u64);
            slots
        };
        let stack = at(0) as u64..at(2) as u64 + 1;
        let all = seen(at(0), stack.clone());
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], (at(0) as u64 + 16, &raw const pair));
        assert_eq!(all[1], (at(0) as u64 + 32, null()));
        assert_eq!(seen(at(0), stack.start..stack.end - 1).len(), 4, "the last entry is beyond the stack");
        assert_eq!(seen(at(0), stack.start + 8..stack.end), [], "the head is below it");
        link(1, at(1));
        assert_eq!(seen(at(0), stack).len(), 4, "a chain in a ring ends");
    }
}
