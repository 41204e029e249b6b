//! The C symbols that give the storage of an owner another number of elements; `resize` of the heap explains them.

use super::thread_heap;
use crate::safepoint_shim;
use std::ffi::c_void;
use tally_heap::OutOfMemory;
use tally_heap::fatal::{self, STATUS_MEMORY, STATUS_USAGE};
use tally_heap::memory::range;
use tally_heap::object::{ObjectRef, Slot};
use tally_heap::zeal::access::FOREIGN;

safepoint_shim! {
    /// `void tally_resize(void *owner, void *field, uint64_t n)`.
    tally_resize => resize
}
safepoint_shim! {
    /// `int32_t tally_try_resize(void *owner, void *field, uint64_t n)`: returns 0 when there is no room.
    tally_try_resize => try_resize
}
safepoint_shim! {
    /// `void tally_rehash(void *owner, void *field, uint64_t n, void (*rehash)(const void *, void *, void *), void *context)`.
    tally_rehash => rehash
}

/// `rehash(old, new, context)`.
type RehashFunction = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);

extern "C" fn resize(owner: u64, field: u64, length: u64) {
    or_stop(resized(owner, field, length, "tally_resize"));
}

extern "C" fn try_resize(owner: u64, field: u64, length: u64) -> i32 {
    resized(owner, field, length, "tally_try_resize").is_ok().into()
}

extern "C" fn rehash(owner: u64, field: u64, length: u64, rehash: RehashFunction, context: *mut c_void) {
    let (owner, slot) = storage(owner, field, "tally_rehash");
    let mut fill = |old: ObjectRef, new: ObjectRef| {
        // SAFETY: a function of that type, as `tally.h` asks for.
        unsafe { rehash(old.address() as *const c_void, new.address() as *mut c_void, context) }
    };
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: `rehash` fills the new storage, as `tally.h` asks for.
    or_stop(unsafe { heap.rehash(owner, slot, length, &mut fill) });
}

fn resized(owner: u64, field: u64, length: u64, function: &str) -> Result<ObjectRef, OutOfMemory> {
    let (owner, slot) = storage(owner, field, function);
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.resize(owner, slot, length)
}

/// The owner, and its field that refers to something that can be resized.
fn storage(owner: u64, field: u64, function: &str) -> (ObjectRef, Slot) {
    if !range::in_heap(owner) {
        fatal::stop(STATUS_USAGE, &format!("{function}: {owner:#x} is not an object of the heap"));
    }
    // SAFETY: [HEADER] a reference, by the caller's promise.
    let owner = unsafe { ObjectRef::from_address(owner) };
    // SAFETY: [HEADER] the field lies in the owner, by the caller's promise.
    let slot = unsafe { Slot::from_address(field) };
    // SAFETY: [ALONE] borrowed for the next statements alone.
    let heap = unsafe { thread_heap() };
    if !heap.owns(owner) {
        fatal::stop(STATUS_USAGE, &format!("{function} in {:#x}, {FOREIGN}", owner.address()));
    }
    if let Some(refusal) = heap.resize_refuses(owner, slot) {
        let place = field.wrapping_sub(owner.address());
        fatal::stop(STATUS_USAGE, &format!("{function} of byte {place} of `{}`: {refusal}", owner.type_info().name));
    }
    (owner, slot)
}

fn or_stop(resized: Result<ObjectRef, OutOfMemory>) {
    if let Err(error) = resized {
        fatal::stop(STATUS_MEMORY, &error);
    }
}
