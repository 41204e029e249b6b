//! The C symbols of weak references, ephemerons and weak maps; `weak`, `ephemeron` and `weak_map` explain them.
//!
//! References that are null or lead out of the heap are legal where `tally.h` does not say otherwise. Such a word
//! never dies, and a weak slot that holds one yields it. Expected cost of `tally_weak_get`: 20 instructions if the
//! target is young or was upgraded before in this epoch, and always under the prompt plan.

use super::{answer, heap_at_hand, own, refuse, required, thread_heap};
use crate::safepoint_shim;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::fatal::{self, STATUS_USAGE};
use tally_heap::memory::range;
use tally_heap::object::{HEADER_BYTES, ObjectRef, Slot};
use tally_heap::services::builtin::{Callback, is_weak_map};
use tally_heap::services::ephemeron::{KEY, VALUE};
use tally_heap::services::weak::WeakKind;
use tally_heap::services::weak_map::WeakMode;
use tally_heap::type_registry::ClearFunction;

safepoint_shim! {
    /// `void *tally_weak_new(void *target)`: a weak reference.
    tally_weak_new => weak_new
}
safepoint_shim! {
    /// `void *tally_weak_new_with(void *target, void (*callback)(void *weak))`: one with a callback.
    tally_weak_new_with => weak_new_with
}
safepoint_shim! {
    /// `void *tally_ephemeron_new(void *key, void *value)`.
    tally_ephemeron_new => ephemeron_new
}
safepoint_shim! {
    /// `void *tally_weak_map_new(uint32_t mode)`.
    tally_weak_map_new => weak_map_new
}
safepoint_shim! {
    /// `void tally_weak_map_set(void *map, void *key, void *value)`.
    tally_weak_map_set => weak_map_set
}

extern "C" fn weak_new(target: u64) -> u64 {
    let object = own(target, "tally_weak_new");
    // SAFETY: [ALONE] borrowed for this statement alone.
    let weak = answer(unsafe { thread_heap() }.new_weak(object));
    // SAFETY: [HEADER] a new object's first word.
    unsafe { Slot::from_address(weak) }.store(target);
    weak
}

extern "C" fn weak_new_with(target: u64, callback: Callback) -> u64 {
    match own(target, "tally_weak_new_with") {
        // SAFETY: [ALONE] borrowed for this statement alone.
        Some(target) => answer(unsafe { thread_heap() }.new_weak_with(target, callback)),
        None => weak_new(target), // never cleared, never called
    }
}

extern "C" fn ephemeron_new(key: u64, value: u64) -> u64 {
    let (key, value) = (own(key, "tally_ephemeron_new"), own(value, "tally_ephemeron_new"));
    let Some(key) = key else { fatal::stop(STATUS_USAGE, "tally_ephemeron_new: the key is no object of the heap") };
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.new_ephemeron(key, value))
}

extern "C" fn weak_map_new(mode: u32) -> u64 {
    let Some(mode) = WeakMode::of(mode) else {
        fatal::stop(
            STATUS_USAGE,
            &format!(
                "tally_weak_map_new: mode {mode} is not known; use TALLY_WEAK_KEYS (1), TALLY_WEAK_VALUES (2), or both (3)"
            ),
        )
    };
    // SAFETY: [ALONE] borrowed for this statement alone.
    answer(unsafe { thread_heap() }.new_weak_map(mode))
}

/// The weak map at an address that the program has named.
#[inline(always)]
fn map_of(word: u64, function: &str) -> ObjectRef {
    let map = required(word, function);
    if is_weak_map(map) { map } else { refuse(word, function, "which is no weak map") }
}

extern "C" fn weak_map_set(map: u64, key: u64, value: u64) {
    if key == 0 {
        fatal::stop(STATUS_USAGE, "tally_weak_map_set: the key is null");
    }
    let map = map_of(map, "tally_weak_map_set");
    own(key, "tally_weak_map_set");
    own(value, "tally_weak_map_set");
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] key and value are objects' addresses.
    if let Err(error) = unsafe { heap.weak_map_set(map, key, value) } {
        fatal::stop(fatal::STATUS_MEMORY, &error);
    }
}

/// `void *tally_weak_get(const void *slot)`: the target of a weak reference, or of any weak slot; null when the
/// target is dead.
///
/// # Safety
/// `slot` is a weak reference, or a weak slot of an object of this thread's heap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_get(slot: u64) -> u64 {
    leaf!(tally_weak_get);
    // SAFETY: by the caller's promise.
    upgraded(unsafe { Slot::from_address(slot) }.read())
}

/// `void *tally_weak_upgrade(void *target)`: the same for a word that the program has read from the slot by itself.
///
/// # Safety
/// `word` was read from a weak slot, and no safepoint came after that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_upgrade(word: u64) -> u64 {
    leaf!(tally_weak_upgrade);
    upgraded(word)
}

#[inline(always)]
fn upgraded(word: u64) -> u64 {
    if !range::in_heap(word) {
        return word;
    }
    // SAFETY: [WEAK] the content of a weak slot, by the callers' promise.
    let object = unsafe { ObjectRef::from_address(word) };
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { heap_at_hand() };
    if heap.is_some_and(|heap| heap.may_be_had(object)) { word } else { upgraded_slowly(object) }
}

#[inline(never)]
fn upgraded_slowly(object: ObjectRef) -> u64 {
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.upgrade(object).map_or(0, ObjectRef::address)
}

/// `void tally_weak_write(void *object, void *slot, void *target)`: makes a word of an object that its descriptor
/// does not name a weak slot.
///
/// # Safety
/// `slot` lies in `object` and is no reference by its descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_write(object: u64, slot: u64, target: u64) {
    leaf!(tally_weak_write);
    write_slot(object, slot, target, WeakKind::Reference, "tally_weak_write");
}

/// `void tally_ephemeron_key_write(void *object, void *slot, void *key)`: the same for the key of an ephemeron.
///
/// # Safety
/// As for [`tally_weak_write`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_ephemeron_key_write(object: u64, slot: u64, key: u64) {
    leaf!(tally_ephemeron_key_write);
    write_slot(object, slot, key, WeakKind::Key, "tally_ephemeron_key_write");
}

fn write_slot(object: u64, slot: u64, target: u64, kind: WeakKind, function: &str) {
    let (object, known) = (required(object, function), own(target, function));
    let (info, offset) = (object.type_info(), slot.wrapping_sub(object.address()));
    if !slot.is_multiple_of(8) || offset >= info.cell_bytes_of(object) - HEADER_BYTES {
        refuse(slot, function, "which is no aligned word of the object");
    }
    if !info.is_plain_word(offset) {
        let says =
            format!("which the type `{}` describes: a word that is to refer weakly is left out of it", info.name);
        refuse(slot, function, &says);
    }
    // SAFETY: [OWNED] an aligned word of an object of this heap.
    let slot = unsafe { Slot::from_address(slot) };
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.write_weak(object, slot, known, kind);
    slot.store(target);
}

/// `void tally_type_on_clear(const tally_type *type, void (*clear)(void *holder, void *slot))`: sets the function
/// that clears weak slots of that type's objects.
///
/// # Safety
/// `clear` stores to the slot and calls nothing of Tally.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_type_on_clear(descriptor: &'static TypeDescriptor, clear: ClearFunction) {
    leaf!(tally_type_on_clear);
    // SAFETY: by the caller's promise.
    unsafe { super::root_type(descriptor).set_on_clear(clear) };
}

/// `void *tally_ephemeron_get(const void *ephemeron)`: the value; null when the key is dead.
///
/// # Safety
/// `ephemeron` comes from `tally_ephemeron_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_ephemeron_get(ephemeron: u64) -> u64 {
    leaf!(tally_ephemeron_get);
    // SAFETY: [HEADER] by the caller's promise.
    let key = unsafe { tally_weak_get(ephemeron + KEY) };
    // SAFETY: [HEADER] by the caller's promise.
    let value = unsafe { Slot::from_address(ephemeron + VALUE) };
    if key == 0 { 0 } else { value.read() }
}

/// `void *tally_ephemeron_key(const void *ephemeron)`: the key; null when it is dead.
///
/// # Safety
/// As for [`tally_ephemeron_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_ephemeron_key(ephemeron: u64) -> u64 {
    leaf!(tally_ephemeron_key);
    // SAFETY: by the caller's promise.
    unsafe { tally_weak_get(ephemeron + KEY) }
}

/// `void *tally_weak_map_get(const void *map, const void *key)`: the value of the key's entry, or null. Expected cost: 50
/// instructions in a map with weak keys that was asked before, where the entry stands where the search begins, and 75 in one with weak
/// values.
///
/// # Safety
/// `map` comes from `tally_weak_map_new`; so for the functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_get(map: u64, key: u64) -> u64 {
    leaf!(tally_weak_map_get);
    // SAFETY: [ALONE] borrowed for the next statement alone.
    if let Some(heap) = unsafe { heap_at_hand() }
        && heap.is_last_weak_map(map)
    {
        // SAFETY: [HEADER] the key is an object's address.
        return unsafe { heap.last_weak_map_get(key) };
    }
    // SAFETY: by the caller's promise.
    unsafe { weak_value_get(map, key) }
}

/// Kept out of line, so that look-ups of weak keys save no registers.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[inline(never)]
unsafe extern "C" fn weak_value_get(map: u64, key: u64) -> u64 {
    leaf!(weak_value_get);
    // SAFETY: [ALONE] borrowed for the next statement alone.
    if let Some(heap) = unsafe { heap_at_hand() }
        && heap.is_last_map_of_weak_values(map)
    {
        // SAFETY: [HEADER] the key is an object's address.
        return upgraded(unsafe { heap.last_weak_value(key) });
    }
    // SAFETY: by the caller's promise.
    unsafe { map_get_slowly(map, key) }
}

/// # Safety
/// As for [`tally_weak_map_get`].
#[inline(never)]
unsafe extern "C" fn map_get_slowly(map: u64, key: u64) -> u64 {
    leaf!(map_get_slowly);
    let map = map_of(map, "tally_weak_map_get");
    // SAFETY: [ALONE] borrowed for the next statements alone.
    let heap = unsafe { thread_heap() };
    heap.note_last_weak_map(map);
    // SAFETY: [HEADER] the key is an object's address.
    unsafe { heap.weak_map_get(map, key) }
}

/// `int32_t tally_weak_map_remove(void *map, const void *key)`: removes the key's entry; returns whether there was
/// one.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_remove(map: u64, key: u64) -> i32 {
    leaf!(tally_weak_map_remove);
    let map = map_of(map, "tally_weak_map_remove");
    // SAFETY: [ALONE] borrowed for the next statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] the key is an object's address.
    let was_there = unsafe { heap.weak_map_remove(map, key) };
    was_there as i32
}

/// `uint64_t tally_weak_map_count(const void *map)`.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_count(map: u64) -> u64 {
    leaf!(tally_weak_map_count);
    let map = map_of(map, "tally_weak_map_count");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_map_count(map)
}

/// `uint64_t tally_weak_map_next(const void *map, uint64_t position)`: the next position with an entry, 0 at the end.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_next(map: u64, position: u64) -> u64 {
    leaf!(tally_weak_map_next);
    let map = map_of(map, "tally_weak_map_next");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_map_next(map, position)
}

/// `uint64_t tally_weak_map_find(const void *map, const void *key)`: the position of the key's entry, 0 for none.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_find(map: u64, key: u64) -> u64 {
    leaf!(tally_weak_map_find);
    let map = map_of(map, "tally_weak_map_find");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_map_find(map, key)
}

/// `void *tally_weak_map_key_at(const void *map, uint64_t position)`.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_key_at(map: u64, position: u64) -> u64 {
    leaf!(tally_weak_map_key_at);
    let map = map_of(map, "tally_weak_map_key_at");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_map_at(map, position).0
}

/// `void *tally_weak_map_value_at(const void *map, uint64_t position)`.
///
/// # Safety
/// As for [`tally_weak_map_get`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_weak_map_value_at(map: u64, position: u64) -> u64 {
    leaf!(tally_weak_map_value_at);
    let map = map_of(map, "tally_weak_map_value_at");
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.weak_map_at(map, position).1
}
