//! The entry points for code that was lowered for zeal (`frontend-glue`'s `lower/zeal.rs` emits the calls). They note
//! the place in the program, and check each access and write before it happens. Without a zeal heap each does
//! nothing: such code may run without zeal.

use crate::abi::thread_heap;
use crate::safepoint_shim;
use crate::stack::root_metadata;
use tally_heap::context::current;
use tally_heap::heap::Heap;
use tally_heap::heap::HeapEntry;
use tally_heap::memory::range;
use tally_heap::zeal::Site;
use tally_heap::zeal::write::Plainly;

safepoint_shim! {
    /// `void tally_zeal_safepoint(void *value, uint64_t size, const tally_site *site)`: runs an epoch; the objects
    /// that `value[0..size]` refers to survive it.
    tally_zeal_safepoint => zeal_safepoint
}

extern "C" fn zeal_safepoint(value: *const u64, size: u64, site: *const Site) {
    // SAFETY: [ALONE] borrowed for this statement alone.
    let heap = unsafe { thread_heap() };
    // SAFETY: a constant that the lowering emitted.
    heap.note_place(unsafe { &*site });
    // SAFETY: the lowering passes the bytes of a call's result.
    let words = if size < 8 { &[] } else { unsafe { std::slice::from_raw_parts(value, size as usize / 8) } };
    // The result has no metadata yet, and what it refers to could not be found.
    if root_metadata::is_needed_for(words) {
        return;
    }
    // SAFETY: [HELD] this thread's heap; compiled code holds no reference to it.
    let heap = unsafe { HeapEntry::of(heap) };
    // SAFETY: the lowering passes the bytes of a call's result.
    unsafe { Heap::zeal_safepoint(heap, value, size as usize / 8) };
}

/// `void tally_zeal_here(const tally_site *site)`: notes that a call that may be a safepoint comes next. Objects that
/// are made or die in the call are reported as made or dead at this site. A thread without a heap has no objects yet.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_here(site: *const Site) {
    leaf!(tally_zeal_here);
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one.
    let heap: *mut Heap = unsafe { (*current()).heap };
    // SAFETY: [CONTEXT] this thread's context, and its heap, if it has one.
    let heap = unsafe { heap.as_mut() };
    if let Some(heap) = heap {
        // SAFETY: by the caller's promise.
        heap.note_place(unsafe { &*site });
    }
}

/// `void tally_zeal_access(const void *address, const tally_site *site)`: stops if `address` lies in a dead object,
/// or in the heap of another thread.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_access(address: u64, site: *const Site) {
    leaf!(tally_zeal_access);
    if range::in_heap(address) {
        // SAFETY: by the caller's promise.
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.check_access(address, unsafe { &*site });
    }
}

/// `void tally_zeal_value(const void *value, const tally_site *site)`: stops if `value`, which gcwrite is about to
/// store, is a dead object, or one of another thread's heap. A word with low bits set may be a number.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_value(value: u64, site: *const Site) {
    leaf!(tally_zeal_value);
    if value.is_multiple_of(8) {
        // SAFETY: by the caller's promise.
        unsafe { tally_zeal_access(value, site) };
    }
}

/// `void tally_zeal_words(const void *object, const void *slot, const uint64_t *words, uint64_t n, const tally_site *site)`: stops if
/// one of the words, which tally_copy_refs is about to write into `object`, refers to a dead object, or one of
/// another thread's heap.
///
/// # Safety
/// `site` is a constant that the lowering emitted; `words` names `n` readable words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_words(object: u64, slot: u64, words: *const u64, count: u64, site: *const Site) {
    leaf!(tally_zeal_words);
    // SAFETY: by the caller's promise.
    let read = |index: u64| unsafe { words.wrapping_add(index as usize).read_unaligned() };
    // SAFETY: by the caller's promise.
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.check_words(object, slot, (0..count).map(read), unsafe { &*site });
}

/// `void tally_zeal_word(const void *object, const void *slot, uint64_t word, const tally_site *site)`: the same check for a word that
/// tally_gcwrite_i64 or tally_fill_refs is about to write.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_word(object: u64, slot: u64, word: u64, site: *const Site) {
    leaf!(tally_zeal_word);
    // SAFETY: by the caller's promise.
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.check_words(object, slot, std::iter::once(word), unsafe { &*site });
}

/// `void tally_zeal_write(const void *object, const void *slot, uint64_t n, const tally_site *site)`: stops unless
/// `n` references may be written to `slot` in `object` by gcwrite and its kin.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_write(object: u64, slot: u64, words: u64, site: *const Site) {
    leaf!(tally_zeal_write);
    // SAFETY: by the caller's promise.
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.check_write(object, slot, words, unsafe { &*site });
}

/// `void tally_zeal_pair(const void *object, const void *slot, uint64_t first, uint64_t second, const tally_site *site)`: stops
/// if the pair, which tally_write_pair is about to write to `slot` in `object`, refers to a dead object, or one of another thread's
/// heap, or if a plain reference stands there.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_pair(object: u64, slot: u64, first: u64, second: u64, site: *const Site) {
    leaf!(tally_zeal_pair);
    // SAFETY: by the caller's promise.
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.check_pair(object, slot, [first, second], unsafe { &*site });
}

/// `void tally_zeal_store(const void *to, uint64_t word, const tally_site *site)`: stops unless the word may be
/// stored there plainly.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_store(to: u64, word: u64, site: *const Site) {
    leaf!(tally_zeal_store);
    // SAFETY: by the caller's promise.
    unsafe { tally_zeal_store_part(to, word, 8, site) };
}

/// `void tally_zeal_store_part(const void *to, uint64_t word, uint64_t bytes, const tally_site *site)`: the same for the first
/// `bytes` bytes of the word.
///
/// # Safety
/// As for [`tally_zeal_store`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_store_part(to: u64, word: u64, bytes: u64, site: *const Site) {
    leaf!(tally_zeal_store_part);
    if range::in_heap(to) {
        // SAFETY: by the caller's promise.
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.check_plain_write(to, bytes, Plainly::Store(word), unsafe { &*site });
    }
}

/// `void tally_zeal_copy(const void *to, const void *from, uint64_t bytes, const tally_site *site)`: stops unless the
/// bytes may be copied there by memcpy or memmove.
///
/// # Safety
/// `site` is a constant that the lowering emitted; `from` names `bytes` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_copy(to: u64, from: u64, bytes: u64, site: *const Site) {
    leaf!(tally_zeal_copy);
    if bytes != 0 {
        // SAFETY: by the caller's promise.
        unsafe { tally_zeal_access(from, site) };
    }
    if range::in_heap(to) {
        // SAFETY: by the caller's promise.
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.check_plain_write(to, bytes, Plainly::Copy(from), unsafe { &*site });
    }
}

/// `void tally_zeal_fill(const void *to, uint64_t byte, uint64_t bytes, const tally_site *site)`: stops unless the
/// bytes may be set there by memset.
///
/// # Safety
/// `site` is a constant that the lowering emitted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_zeal_fill(to: u64, byte: u64, bytes: u64, site: *const Site) {
    leaf!(tally_zeal_fill);
    if range::in_heap(to) {
        // SAFETY: by the caller's promise.
        // SAFETY: [ALONE] borrowed for this statement alone.
        unsafe { thread_heap() }.check_plain_write(to, bytes, Plainly::Fill(byte as u8), unsafe { &*site });
    }
}
