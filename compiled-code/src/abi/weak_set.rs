//! The C symbols of weak sets; `weak_set` of the heap explains them.
//!
//! A search returns the members that may be the wanted one, and the caller compares: nothing of the program is called in
//! the midst of it.

use super::{answer, heap_at_hand, refuse, required, thread_heap};
use crate::safepoint_shim;
use tally_heap::fatal::{self, STATUS_USAGE};
use tally_heap::object::ObjectRef;
use tally_heap::{Heap, HeapEntry};

safepoint_shim! {
    /// `void *tally_weak_set_new(uint32_t hash_offset)`.
    tally_weak_set_new => weak_set_new
}
safepoint_shim! {
    /// `void tally_weak_set_add(void *set, void *member)`.
    tally_weak_set_add => weak_set_add
}

extern "C" fn weak_set_new(hash_offset: u32) -> u64 {
    if !hash_offset.is_multiple_of(4) {
        fatal::stop(
            STATUS_USAGE,
            &format!(
                "tally_weak_set_new: hash_offset {hash_offset} is no multiple of 4: a hash is 32 bits of a member"
            ),
        );
    }
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [ALONE] compiled code holds no reference to its heap.
    if !Heap::makes_room_for_weak_set(unsafe { HeapEntry::of(heap) }) {
        fatal::stop(STATUS_USAGE, "tally_weak_set_new: a heap has at most 4095 weak sets");
    }
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.new_weak_set(hash_offset))
}

extern "C" fn weak_set_add(set: u64, member: u64) {
    let (set, member) = (set_of(set, "tally_weak_set_add"), required(member, "tally_weak_set_add"));
    // SAFETY: [ALONE] borrowed for the next statements alone.
    let heap = unsafe { thread_heap() };
    if let Some(refusal) = heap.weak_set_refuses(set, member) {
        fatal::stop(STATUS_USAGE, &format!("tally_weak_set_add of {:#x}: {refusal}", member.address()));
    }
    if let Err(error) = heap.weak_set_add(set, member) {
        fatal::stop(fatal::STATUS_MEMORY, &error);
    }
}

#[inline(always)]
fn set_of(word: u64, function: &str) -> ObjectRef {
    // SAFETY: [ALONE] borrowed for this statement alone.
    if unsafe { thread_heap() }.is_own_weak_set(word) {
        // SAFETY: [HEADER] a weak set's address.
        return unsafe { ObjectRef::from_address(word) };
    }
    refuse(required(word, function).address(), function, "which is no weak set")
}

/// `void *tally_weak_set_probe(const void *set, uint32_t hash, uint64_t *at)`: the next member that may have this hash;
/// null when there are no more. Expected cost: 50 instructions for a member that the program has or has found before in this
/// epoch, and always under the prompt plan: nothing is called, so no register is saved.
///
/// # Safety
/// `at` leads to a word that is 0 before the first call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_set_probe(set: u64, hash: u32, at: *mut u64) -> u64 {
    leaf!(tally_weak_set_probe);
    // SAFETY: [ALONE] borrowed for the next statement alone.
    if let Some(heap) = unsafe { heap_at_hand() }
        && heap.is_last_weak_set(set)
    {
        // SAFETY: by the caller's promise.
        return heap.last_weak_set_probe(hash, unsafe { &mut *at }).map_or(0, ObjectRef::address);
    }
    // SAFETY: by the caller's promise.
    unsafe { probe_other(set, hash, at) }
}

/// # Safety
/// As for [`tally_weak_set_probe`].
#[inline(never)]
unsafe extern "C" fn probe_other(set: u64, hash: u32, at: *mut u64) -> u64 {
    leaf!(probe_other);
    let set = set_of(set, "tally_weak_set_probe");
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: by the caller's promise.
    let at = unsafe { &mut *at };
    heap.weak_set_probe(set, hash, at).map_or(0, ObjectRef::address)
}

/// `int32_t tally_weak_set_remove(void *set, const void *member)`: returns whether it was one.
///
/// # Safety
/// `member` is a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_set_remove(set: u64, member: u64) -> i32 {
    leaf!(tally_weak_set_remove);
    let (set, member) = (set_of(set, "tally_weak_set_remove"), required(member, "tally_weak_set_remove"));
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_set_remove(set, member).into()
}

/// `uint64_t tally_weak_set_count(const void *set)`.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_set_count(set: u64) -> u64 {
    leaf!(tally_weak_set_count);
    let set = set_of(set, "tally_weak_set_count");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_set_count(set)
}

/// `void *tally_weak_set_next(const void *set, uint64_t *position)`: the next member; null at the end.
///
/// # Safety
/// `position` leads to a word that is 0 before the first call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_set_next(set: u64, position: *mut u64) -> u64 {
    leaf!(tally_weak_set_next);
    let set = set_of(set, "tally_weak_set_next");
    // SAFETY: by the caller's promise.
    let from = unsafe { *position };
    // SAFETY: [ALONE] borrowed for this statement alone.
    let Some((at, member)) = unsafe { thread_heap() }.weak_set_next(set, from) else { return 0 };
    // SAFETY: by the caller's promise.
    unsafe { *position = at };
    member.address()
}
