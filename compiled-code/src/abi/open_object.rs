//! The C symbols for objects that are written to without a barrier (`tally_heap::services::open_object`); `tally.h` has their contract.

use crate::abi::{required, thread_heap, written_into};
use tally_heap::fatal::{self, STATUS_USAGE};

/// `void tally_object_open(void *object)`: the object is held, and written to by `tally_write_open`.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_object_open(object: u64) {
    leaf!(tally_object_open);
    let object = required(object, "tally_object_open");
    // SAFETY: [ALONE] borrowed until the function's end, and nothing else of it is.
    let heap = unsafe { thread_heap() };
    if let Some(why) = heap.open_refuses(object) {
        fatal::stop(STATUS_USAGE, &format!("tally_object_open: {:#x} cannot be open: {why}", object.address()));
    }
    heap.open_object(object);
}

/// `void tally_object_close(void *object)`: the object is one like others again.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_object_close(object: u64) {
    leaf!(tally_object_close);
    let object = required(object, "tally_object_close");
    // SAFETY: [ALONE] borrowed for this statement alone.
    if !unsafe { thread_heap() }.close_object(object) {
        fatal::stop(STATUS_USAGE, &format!("tally_object_close: {:#x} is not open", object.address()));
    }
}

/// `void tally_write_open(void *value, void *object, void *slot)`: a write to an open object. The lowering puts a store or a counted
/// write in its place; code that it has not seen comes here.
///
/// # Safety
/// `slot` lies in `object`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_write_open(value: u64, object: u64, slot: u64) {
    leaf!(tally_write_open);
    if let Some((object, slot)) = written_into(object, slot, 1) {
        // SAFETY: [ALONE] borrowed for this statement alone.
        let heap = unsafe { thread_heap() };
        if heap.zeal.is_some() && !heap.is_open(object) {
            fatal::stop(STATUS_USAGE, &format!("tally_write_open into {:#x}, which is not open", object.address()));
        }
        heap.write(object, slot, value);
    }
}

/// `void tally_write_open_i64(uint64_t word, void *object, void *slot)`: the same of a word that the object's type reads.
///
/// # Safety
/// As for [`tally_write_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_write_open_i64(word: u64, object: u64, slot: u64) {
    leaf!(tally_write_open_i64);
    // SAFETY: by the caller's promise.
    unsafe { tally_write_open(word, object, slot) };
}
