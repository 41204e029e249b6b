//! The C symbols that compiled programs call (the list is in `symbols`, the C view in `tally.h`). The symbols for
//! modules and for programs as a whole are in `program`.
//!
//! A safepoint symbol is a naked shim (`crate::arch`): it writes its return address, the stack pointer at it, frame pointer and base pointer into the
//! thread's context (the *exit anchor* from which the stack is walked) and jumps on to the Rust function of the same
//! name. Leaves that barriers call (`tally_log_slow`) save the caller's registers, so that a barrier costs the
//! surrounding code no spills.
//!
//! Pointers become an `ObjectRef`, a `Slot` or a descriptor in the first lines here. There are three kinds of
//! failure, each with its exit status: 2 for a bad module or descriptor, 4 for exhausted memory, 5 for a violated
//! invariant.

pub(crate) mod address_taken;
pub mod alloc_site;
mod coroutine;
pub mod cycles;
pub mod debugger;
mod entry;
mod finalizer;
pub mod host;
pub mod llvm_interface;
mod open_object;
pub mod panic_frames;
mod resize;
mod weak;
mod weak_set;
pub mod why_alive;
mod zeal;

pub use coroutine::*;
pub use entry::thread_heap;
pub(crate) use entry::{answer, heap_at_hand, own, refuse, registered, required, root_type};
pub use finalizer::*;
pub use open_object::*;
pub use resize::*;
pub use weak::*;
pub use weak_set::*;
pub use zeal::*;

use crate::arch::preserving_shim;
use crate::module::record::TypeHandle;
use crate::safepoint_shim;
use tally_heap::context::current;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::fatal::{self, STATUS_USAGE};
use tally_heap::heap::Heap;
use tally_heap::heap::HeapEntry;
use tally_heap::memory::range;
use tally_heap::object::{ObjectRef, Slot};
use tally_heap::type_registry::TypeInfo;
use tally_heap::zeal::access::FOREIGN;

safepoint_shim! {
    /// `void *tally_new(const tally_type *type)`: a new object, payload zero.
    tally_new => new
}
safepoint_shim! {
    /// `void *tally_new_array(const tally_type *type, uint64_t n)`: the same with `n` tail elements.
    tally_new_array => new_array
}
safepoint_shim! {
    /// `void *tally_try_new(const tally_type *type)`: `tally_new`, or null.
    tally_try_new => try_new
}
safepoint_shim! {
    /// `void *tally_try_new_array(const tally_type *type, uint64_t n)`: `tally_new_array`, or null.
    tally_try_new_array => try_new_array
}
safepoint_shim! {
    /// `void *tally_new_slow(tally_type_handle *)`: the slow path of inline allocation.
    tally_new_slow => new_slow
}
safepoint_shim! {
    /// `void *tally_new_array_slow(tally_type_handle *, uint64_t n)`.
    tally_new_array_slow => new_array_slow
}
safepoint_shim! {
    /// `void *tally_new_owned(const tally_type *type)`: `tally_new` for lowered code, which owns the result's one
    /// count.
    tally_new_owned => new_owned
}
safepoint_shim! {
    /// `void *tally_new_array_owned(const tally_type *type, uint64_t n)`.
    tally_new_array_owned => new_array_owned
}
safepoint_shim! {
    /// `void tally_drain(const uint64_t *words, uint64_t n)`: the objects at zero die, except those that `words` lead
    /// to.
    tally_drain => drain
}
safepoint_shim! {
    /// `void tally_safepoint(void)`: a poll that may be called like a function.
    tally_safepoint => safepoint
}
safepoint_shim! {
    /// `void tally_safepoint_slow(void)`: the slow path of a poll, called when its flag is set.
    tally_safepoint_slow => safepoint
}
safepoint_shim! {
    /// `void tally_collect(void)`: a full collection; no unreachable object is left afterwards.
    tally_collect => collect
}

extern "C" fn new(descriptor: &'static TypeDescriptor) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_cell(registered(descriptor), 0))
}

extern "C" fn new_array(descriptor: &'static TypeDescriptor, length: u64) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_cell(registered(descriptor), length))
}

extern "C" fn new_slow(handle: &TypeHandle) -> u64 {
    // SAFETY: [HEADER] a registered type's.
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_owned(unsafe { TypeInfo::of_meta(handle.meta) }, 0))
}

extern "C" fn new_array_slow(handle: &TypeHandle, length: u64) -> u64 {
    // SAFETY: [HEADER] a registered type's.
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_array_owned(unsafe { TypeInfo::of_meta(handle.meta) }, length))
}

extern "C" fn new_owned(descriptor: &'static TypeDescriptor) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_owned(registered(descriptor), 0))
}

extern "C" fn new_array_owned(descriptor: &'static TypeDescriptor, length: u64) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.allocate_array_owned(registered(descriptor), length))
}

extern "C" fn try_new(descriptor: &'static TypeDescriptor) -> u64 {
    try_new_array(descriptor, 0)
}

extern "C" fn try_new_array(descriptor: &'static TypeDescriptor, length: u64) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.allocate_cell(registered(descriptor), length).map_or(0, ObjectRef::address)
}

extern "C" fn safepoint() {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    Heap::poll(unsafe { HeapEntry::of(heap) });
}

extern "C" fn collect() {
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] borrowed for the next statement alone.
    Heap::collect(unsafe { HeapEntry::of(heap) });
}

extern "C" fn drain(words: *const u64, count: u64) {
    let words = if count == 0 {
        &[]
    } else {
        // SAFETY: the lowering passes `count` words of its frame.
        unsafe { std::slice::from_raw_parts(words, count as usize) }
    };
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] borrowed for the next statement alone.
    Heap::prompt_safepoint(unsafe { HeapEntry::of(heap) }, words);
}

preserving_shim! {
    /// `void tally_log_slow(void *object, void *slot)`, calling convention `preserve_most`.
    ///
    /// # Safety
    /// `object` is a heap object whose unlogged bit is set, `slot` lies in it.
    tally_log_slow(object, slot) => log_slow
}
preserving_shim! {
    /// `void tally_count_low(void *object)`, calling convention `preserve_most`: an inline decrement has left the low
    /// part of the count at zero, or, unless it was a root's, has reached an object that is not settled.
    ///
    /// # Safety
    /// `object` is a heap object of this thread.
    tally_count_low(object) => count_low
}
preserving_shim! {
    /// `void tally_count_full(void *object)`, calling convention `preserve_most`: an inline increment has filled the
    /// low part of the count.
    ///
    /// # Safety
    /// `object` is a heap object of this thread.
    tally_count_full(object) => count_full
}

preserving_shim! {
    /// `void tally_postpone(uint64_t new, uint64_t old)`, calling convention `preserve_most`: notes a write when
    /// there is no room left for another postponed one.
    ///
    /// # Safety
    /// Words in the heap range are references; the old one was counted.
    tally_postpone(new, old) => postpone
}
/// `void tally_apply_postponed(void)`: applies the postponed counts.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_apply_postponed() {
    leaf!(tally_apply_postponed);
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one.
    let heap = unsafe { (*current()).heap };
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one; borrowed here alone.
    if let Some(heap) = unsafe { heap.as_mut() } {
        heap.apply_postponed();
    }
}

extern "C" fn postpone(new: u64, old: u64) {
    // SAFETY: [CONTEXT] this thread's context.
    let no_heap = unsafe { (*current()).heap.is_null() };
    if no_heap && !range::in_heap(old) && !range::in_heap(new) {
        // Nothing is counted yet in this thread.
        return;
    }
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.postpone(new, old);
}

extern "C" fn count_low(object: u64) {
    // SAFETY: [HEADER] by the caller's promise.
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.note_low_in_code(unsafe { ObjectRef::from_address(object) });
}

extern "C" fn count_full(object: u64) {
    // SAFETY: [HEADER] by the caller's promise.
    unsafe { ObjectRef::from_address(object) }.carry();
}

/// `void tally_increment(uint64_t word)`: counts the object that the word refers to; a word that is no heap reference
/// is ignored.
///
/// # Safety
/// A word in the heap range is a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_increment(word: u64) {
    leaf!(tally_increment);
    // SAFETY: [HEADER] by the caller's promise.
    if let Some(object) = unsafe { ObjectRef::of_word(word) } {
        object.increment_exact();
    }
}

/// `void tally_decrement(uint64_t word)`: the reverse; at zero the object is pending.
///
/// # Safety
/// A word in the heap range is a reference that was counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_decrement(word: u64) {
    leaf!(tally_decrement);
    // SAFETY: [HEADER] by the caller's promise.
    if let Some(object) = unsafe { ObjectRef::of_word(word) } {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.decrement_exact(object);
    }
}

/// `void tally_root_settle(void *slot, void *shadow, tally_type_handle *how, uint64_t bytes)`: settles a root of
/// complex shape after a store to it ([`Heap::settle_root`]). The handle was filled in when its module was
/// registered: a search for the descriptor at every call took twice as long as the rest of the call.
///
/// # Safety
/// As for [`Heap::settle_root`]; `slot` may be null, and so may `how`, a handle of a registered module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_root_settle(slot: u64, shadow: u64, how: *const TypeHandle, bytes: u64) {
    leaf!(tally_root_settle);
    // SAFETY: by the caller's promise; the module's table is there as long as its code.
    let how = unsafe { how.as_ref() };
    // SAFETY: [HEADER] a registered type's.
    let how = how.map(|handle| unsafe { TypeInfo::of_meta(handle.meta) });
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ROOT] by the caller's promise.
    unsafe { heap.settle_root(slot, shadow, how, bytes) };
}

/// `void tally_gcwrite_i64(uint64_t word, void *object, void *slot)`: a counted write of a word that its object's
/// type reads.
///
/// # Safety
/// `slot` lies in `object`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_gcwrite_i64(word: u64, object: u64, slot: u64) {
    leaf!(tally_gcwrite_i64);
    if let Some((object, slot)) = written_into(object, slot, 1) {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.write(object, slot, word);
    }
}

/// `void tally_write_pair(void *object, void *pair, uint64_t first, uint64_t second)`: writes a pair of tag and word.
///
/// # Safety
/// `pair` names two words of `object`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_write_pair(object: u64, pair: u64, first: u64, second: u64) {
    leaf!(tally_write_pair);
    if let Some((object, slot)) = written_into(object, pair, 2) {
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.write_pair(object, slot, [first, second]);
    }
}

extern "C" fn log_slow(object: u64, slot: u64) {
    if !range::in_heap(object) {
        fatal::stop(STATUS_USAGE, &format!("gcwrite into {object:#x}, which is not an object of the heap"));
    }
    // SAFETY: [HEADER] by the barrier's contract; the slot lies in the object.
    let object = unsafe { ObjectRef::from_address(object) };
    // SAFETY: [HEADER] by the barrier's contract; the slot lies in the object.
    let slot = unsafe { Slot::from_address(slot) };
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    if !heap.owns(object) {
        fatal::stop(STATUS_USAGE, &format!("gcwrite into {:#x}, {FOREIGN}", object.address()));
    }
    heap.note_overwritten(object, slot);
}

/// `void tally_copy_refs(void *dst_object, void *dst, const void *src, uint64_t n)`: memmove of `n` words with barrier.
///
/// # Safety
/// `dst` names `n` words of `dst_object`, `src` `n` readable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_copy_refs(object: u64, target: u64, source: u64, count: u64) {
    leaf!(tally_copy_refs);
    if let Some((object, target)) = written_into(object, target, count) {
        // SAFETY: [ALONE] borrowed for the next statement alone.
        let heap = unsafe { thread_heap() };
        // SAFETY: by the caller's promise.
        unsafe { heap.copy_references(object, target, source, count) };
    }
}

/// `void tally_fill_refs(void *dst_object, void *dst, uint64_t word, uint64_t n)`: `word` into `n` words, with barrier.
///
/// # Safety
/// `dst` names `n` words of `dst_object`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_fill_refs(object: u64, target: u64, word: u64, count: u64) {
    leaf!(tally_fill_refs);
    if let Some((object, target)) = written_into(object, target, count) {
        // SAFETY: [ALONE] borrowed for the next statement alone.
        let heap = unsafe { thread_heap() };
        // SAFETY: by the caller's promise.
        unsafe { heap.fill_references(object, target, word, count) };
    }
}

/// The object and the first slot of a bulk write; `None` when there is nothing to write: the addresses may be null
/// then.
fn written_into(object: u64, target: u64, count: u64) -> Option<(ObjectRef, Slot)> {
    if count == 0 {
        return None;
    }
    if !range::in_heap(object) {
        fatal::stop(
            STATUS_USAGE,
            &format!("copy, fill or write of a pair into {object:#x}, which is not an object of the heap"),
        );
    }
    // SAFETY: [HEADER] by the caller's promise.
    let object = unsafe { ObjectRef::from_address(object) };
    // SAFETY: [HEADER] by the caller's promise.
    Some((object, unsafe { Slot::from_address(target) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bulk_write_of_no_words_needs_no_object() {
        // SAFETY: no words are named.
        unsafe { tally_copy_refs(0, 0, 0, 0) };
        // SAFETY: no words are named.
        unsafe { tally_fill_refs(0, 0, 0, 0) };
    }
}
