//! The runtime interface that LLVM's documentation recommends to collectors (*Garbage Collection with LLVM*), for
//! frontends that were written against it: `llvm_gc_initialize`, `llvm_gc_allocate`, `llvm_gc_collect` and
//! `llvm_cg_walk_gcroots`; `llvm_gc_root_chain` is in `shadow_stack`.
//!
//! The interface knows no types. An object of `llvm_gc_allocate` is therefore read by a rule: **each of its words
//! that holds an address in the heap range is a reference to an object.** Small integers, pointers to other memory
//! and floating-point numbers are legal in it; an integer of the heap range (2⁴⁵ to 2⁴⁵ + 2⁴⁰) is not. The types of
//! these objects are named `untyped N bytes`, one per size. After `tally_trace_with` the metadata of roots says what a new object is
//! (`root_metadata`), and its type is `N bytes typed by roots`.

use crate::abi::thread_heap;
use crate::safepoint_shim;
use crate::stack::coroutine;
use crate::stack::plain_root::visit_words;
use crate::stack::root_listing::StackRoot;
use crate::stack::root_metadata::{self, Callback};
use crate::stack::roots::StackRoots;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};
use tally_heap::context;
use tally_heap::descriptor::{SlotKind, TraceFunction, TypeDescriptor};
use tally_heap::fatal::{self, STATUS_MEMORY, STATUS_USAGE};
use tally_heap::heap::HeapEntry;
use tally_heap::shared_map::{SharedMap, shared_map};
use tally_heap::{TypeId, type_registry};

/// `void llvm_gc_initialize(unsigned initial_heap_size)`: makes the thread's heap, as its first allocation would.
/// Heaps grow as they need, so the size is not used.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llvm_gc_initialize(_initial_heap_size: u32) {
    leaf!(llvm_gc_initialize);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() };
}

safepoint_shim! {
    /// `void *llvm_gc_allocate(unsigned size)`: a zeroed object of `size` bytes.
    llvm_gc_allocate => allocate
}
safepoint_shim! {
    /// `void llvm_gc_collect(void)`: `tally_collect` under LLVM's name.
    llvm_gc_collect => collect
}
safepoint_shim! {
    /// `void llvm_cg_walk_gcroots(void (*visit)(void **root, void *meta))`: calls `visit` with the slot of each root
    /// on the thread's stack that is live at the call, and the descriptor given to `llvm.gcroot`, or null.
    llvm_cg_walk_gcroots => walk_gcroots
}
safepoint_shim! {
    /// `void tally_walk_roots(void (*visit)(const tally_stack_root *, void *), void *data)`: the same with all that is
    /// known of each root.
    tally_walk_roots => walk_roots
}

extern "C" fn allocate(size: u32) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    match unsafe { thread_heap() }.allocate(type_of_size(size)) {
        Ok(object) => {
            let bytes = object.type_info().size as usize;
            // SAFETY: the payload of a new object.
            unsafe { std::ptr::write_bytes(object.address() as *mut u8, 0, bytes) };
            object.address()
        }
        Err(error) => fatal::stop(STATUS_MEMORY, &error),
    }
}

/// `void tally_trace_with(void (*callback)(void **slot, const void *meta, void (*visit)(void **slot, const void *meta)))`: objects that
/// `llvm_gc_allocate` makes on this thread from now on are read by `callback`, by the metadata of what leads to them.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_trace_with(callback: Option<Callback>) {
    leaf!(tally_trace_with);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let plan = unsafe { thread_heap() }.plan();
    let Some(callback) = callback else { fatal::stop(STATUS_USAGE, &"tally_trace_with: the callback is null") };
    if plan.has_barrier() {
        fatal::stop(
            STATUS_USAGE,
            &"tally_trace_with: roots say what objects are under the trace plan only; compile the program with --plan trace, or its \
              functions with gc \"trace\"",
        )
    }
    if coroutine::current().is_some() {
        fatal::stop(
            STATUS_USAGE,
            &"tally_trace_with: the program has coroutines, whose roots would lose their metadata",
        );
    }
    root_metadata::trace_with(callback);
}

extern "C" fn collect() {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    tally_heap::Heap::collect(unsafe { HeapEntry::of(heap) });
}

extern "C" fn walk_gcroots(visit: unsafe extern "C" fn(*mut u64, *const TypeDescriptor)) {
    // Visited after the walk: the callback may do anything, even collect.
    for root in roots() {
        // SAFETY: a function of that type, as `tally.h` asks for; the slots lie in frames that are still there.
        unsafe { visit(root.slot, root.meta) };
    }
}

/// One root, as C sees it. `tally_stack_root` in `tally.h`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CStackRoot {
    slot: *mut u64,
    meta: *const TypeDescriptor,
    name: *const c_char,
    function: *const c_char,
    return_address: u64,
    stack_pointer: u64,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<CStackRoot>() == 48 && offset_of!(CStackRoot, meta) == 8 && offset_of!(CStackRoot, name) == 16);
    assert!(offset_of!(CStackRoot, function) == 24 && offset_of!(CStackRoot, return_address) == 32);
    assert!(offset_of!(CStackRoot, stack_pointer) == 40);
};

extern "C" fn walk_roots(visit: unsafe extern "C" fn(*const CStackRoot, *mut c_void), data: *mut c_void) {
    for root in roots() {
        let text = |text: Option<Arc<str>>| text.and_then(|text| CString::new(&*text).ok());
        let (name, function) = (text(root.name), text(root.function));
        let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let seen = CStackRoot {
            slot: root.slot,
            meta: root.meta,
            name: pointer(&name),
            function: pointer(&function),
            return_address: root.return_address,
            stack_pointer: root.stack_pointer,
        };
        // SAFETY: a function of that type, as `tally.h` asks for; the slots lie in frames that are still there.
        unsafe { visit(&raw const seen, data) };
    }
}

/// The roots of the frames below the shim that was called.
fn roots() -> Vec<StackRoot> {
    let mut roots = vec![];
    // SAFETY: [CONTEXT] this thread's context, in which the shim has just written the anchor.
    StackRoots::default().visit_roots(unsafe { &*context::current() }, |root| roots.push(root));
    roots
}

/// The type of objects of `size` bytes, rounded up to whole words.
fn type_of_size(size: u32) -> TypeId {
    static TYPES: OnceLock<SharedMap<(u64, bool), TypeId>> = OnceLock::new();
    let bytes = u64::from(size).next_multiple_of(8);
    let by_roots = root_metadata::is_on();
    *TYPES.get_or_init(shared_map).entry((bytes, by_roots)).or_insert_with(|| match by_roots {
        false => traced_type(&format!("untyped {bytes} bytes"), bytes, visit_words),
        true => traced_type(&format!("{bytes} bytes typed by roots"), bytes + 8, root_metadata::trace),
    })
}

fn traced_type(name: &str, bytes: u64, trace: TraceFunction) -> TypeId {
    let name = CString::new(name).expect("no NUL in it").into_raw();
    let mut raw = *TypeDescriptor::plain(c"", bytes, &[]);
    (raw.name, raw.slot_kind) = (name, SlotKind::Trace as u32);
    raw.trace = Some(trace);
    // SAFETY: [DESCRIPTOR] the name is a C string of the module, and the function reads the words that it gets.
    let descriptor = unsafe { TypeDescriptor::from_raw(raw) };
    type_registry::register(Box::leak(Box::new(descriptor))).expect("a sound descriptor")
}
