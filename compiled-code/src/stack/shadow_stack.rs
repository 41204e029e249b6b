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
//! only while it lies on its own stack. `[ADVANCE]` Entries of callers lie above those of callees, or the walk stops: an
//! entry below belongs to a frame that `longjmp` has left, and the collection ends the process, since the callers'
//! roots are behind it.
//!
//! A root with metadata is read as that descriptor says and takes its size, rounded up to 8 bytes; one without is a
//! word. After `tally_trace_with` all metadata belongs to the callback, and each root is a word (`root_metadata`). Else metadata may be any constant: it is looked at before it is believed, and a collection says what is wrong with it. (LLVM 22, `ShadowStackGCLowering.cpp`: roots with metadata come first, and each has its alloca's type.)

use crate::module::loaded::readable_bytes_from;
use crate::stack::plain_root::visit_plain_root;
use crate::stack::root_metadata;
use rustc_hash::FxHashMap;
use std::ops::Range;
use tally_heap::ObjectRef;
use tally_heap::descriptor::{DESCRIPTOR_VERSION, TypeDescriptor};
use tally_heap::fatal::{self, STATUS_USAGE, STATUS_VIOLATION};
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

/// The end of a walk over the chain.
#[derive(Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// At its end, or at an entry of another thread.
    Whole,
    /// At an entry of a frame that is gone: what it led to is not known.
    Gone,
}

/// Calls `visit` with the slot of every root in the chain, and its metadata or null; it returns the bytes of the root. `active` are the
/// frames of the calling thread, from the stack pointer to its end; below lies `low`.
///
/// # Safety
/// The range is the calling thread's stack, and code that LLVM emitted links its entries.
pub unsafe fn visit(low: u64, active: Range<u64>, visit: impl FnMut(u64, *const TypeDescriptor) -> u64) -> ChainEnd {
    // SAFETY: by the caller's promise.
    unsafe { visit_from(head(), low, active, visit) }
}

/// The same from an entry that was the head once.
///
/// # Safety
/// The same; the frames of the stack have stopped.
pub(crate) unsafe fn visit_from(
    first: u64,
    low: u64,
    active: Range<u64>,
    mut visit: impl FnMut(u64, *const TypeDescriptor) -> u64,
) -> ChainEnd {
    let mut entry = first as *const Entry;
    let mut above = active.start;
    while (above..active.end).contains(&(entry as u64)) {
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
            slot += visit(slot, meta).next_multiple_of(8).max(8);
        }
        above = entry as u64 + 1;
        entry = linked.next;
    }
    if (low..above).contains(&(entry as u64)) { ChainEnd::Gone } else { ChainEnd::Whole }
}

fn head() -> u64 {
    let chain = &raw const llvm_gc_root_chain;
    // SAFETY: a word; if another thread changes it meanwhile, its value is not on this stack.
    unsafe { chain.read_volatile() as u64 }
}

/// The stack with these bounds is left: returns the head of its chain, or 0. Frames of the next begin a chain of their own.
#[inline(always)]
pub(crate) fn leave_stack(bounds: Range<u64>) -> u64 {
    let head = head();
    if !bounds.contains(&head) {
        return 0;
    }
    enter_stack(0);
    head
}

/// A stack goes on that was left with this head.
pub(crate) fn enter_stack(head: u64) {
    let chain = &raw mut llvm_gc_root_chain;
    // SAFETY: this thread is the one that runs such code.
    unsafe { chain.write_volatile(head as *const Entry) };
}

/// Ends the process: `longjmp` left frames in the chain.
pub(crate) fn stop_at_lost_frames() -> ! {
    fatal::stop(
        STATUS_VIOLATION,
        "llvm_gc_root_chain leads to a frame that longjmp has left, so the roots of its callers cannot be found; note \
         the variable before setjmp and set it again behind, or let tally compile the functions that call setjmp",
    )
}

/// The types by which the shadow stack's roots are read, by descriptor.
#[derive(Debug, Default)]
pub(crate) struct ShadowTypes(FxHashMap<u64, Result<TypeInfo, String>>);

impl ShadowTypes {
    /// Calls `found` with each object that the root refers to. Returns the bytes of the root.
    pub(crate) fn visit_root(&mut self, slot: u64, meta: *const TypeDescriptor, found: impl FnMut(ObjectRef)) -> u64 {
        if root_metadata::is_on() && !meta.is_null() {
            root_metadata::visit_root(slot, meta as u64, || format!("the shadow stack's root at {slot:#x}"), found);
            return 8;
        }
        match self.of(meta) {
            None => visit_plain_root(slot, found),
            // SAFETY: [ROOT] a root that this type describes.
            Some(Ok(how)) => unsafe { how.for_each_reference_in_root(slot, found) },
            Some(Err(error)) => fatal::stop(
                STATUS_USAGE,
                &format!(
                    "metadata of a root on the shadow stack at {:#x}: {error}; Tally reads it as a tally_type: pass one to \
                     llvm.gcroot, or null for a plain reference, or call tally_trace_with first",
                    meta as u64
                ),
            ),
        }
        self.bytes(meta)
    }

    /// The bytes of a root with that metadata: a word, if it is no descriptor, or the program's callback reads metadata.
    pub(crate) fn bytes(&mut self, meta: *const TypeDescriptor) -> u64 {
        if root_metadata::is_on() {
            return 8;
        }
        self.of(meta).and_then(|how| how.as_ref().ok()).map_or(8, |how| how.size)
    }

    fn of(&mut self, meta: *const TypeDescriptor) -> Option<&Result<TypeInfo, String>> {
        (!meta.is_null()).then(|| &*self.0.entry(meta as u64).or_insert_with(|| described(meta as u64)))
    }
}

/// The type that metadata describes, or the reason why it describes none: it may be any constant of the program.
fn described(meta: u64) -> Result<TypeInfo, String> {
    let is_readable = |address: u64, bytes: u64| bytes == 0 || readable_bytes_from(address) >= bytes;
    if !meta.is_multiple_of(8) || !is_readable(meta, size_of::<TypeDescriptor>() as u64) {
        return Err("it is no type descriptor".to_owned());
    }
    // SAFETY: as many bytes as a descriptor has can be read; each of its words may have any value.
    let descriptor = unsafe { &*(meta as *const TypeDescriptor) };
    let offsets = [
        (descriptor.ref_offsets as u64, descriptor.ref_count),
        (descriptor.element_ref_offsets as u64, descriptor.element_ref_count),
    ];
    let leads_on = offsets.iter().all(|&(table, count)| is_readable(table, u64::from(count) * 4));
    let is_named = descriptor.name.is_null() || is_readable(descriptor.name as u64, 1);
    if descriptor.version != DESCRIPTOR_VERSION || !leads_on || !is_named {
        return Err("it is no type descriptor".to_owned());
    }
    type_registry::describe(descriptor).map_err(|error| error.to_string())
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
            let mut visit_one = |slot, meta: *const TypeDescriptor| {
                slots.push((slot, meta));
                if meta.is_null() { 8 } else { 16 }
            };
            // SAFETY: the stack of this thread.
            let end = unsafe { visit(at(0) as u64, stack, &mut visit_one) };
            // SAFETY: the stack of this thread.
            unsafe { llvm_gc_root_chain = null() };
            (slots, end)
        };
        let stack = at(0) as u64..at(2) as u64 + 1;
        let (all, end) = seen(at(0), stack.clone());
        assert_eq!(end, ChainEnd::Whole);
        assert_eq!(all.len(), 6);
        assert_eq!(all[0], (at(0) as u64 + 16, &raw const pair));
        assert_eq!(all[1], (at(0) as u64 + 32, null()));
        let (beyond, end) = seen(at(0), stack.start..stack.end - 1);
        assert_eq!((beyond.len(), end), (4, ChainEnd::Whole), "the last entry is another thread's");
        assert_eq!(seen(at(0), stack.start + 8..stack.end), (vec![], ChainEnd::Gone), "the head's frame is gone");
        link(1, at(0));
        let (ring, end) = seen(at(0), stack);
        assert_eq!((ring.len(), end), (4, ChainEnd::Gone), "a chain in a ring ends");
    }
}
