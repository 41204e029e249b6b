//! The one address range that all heaps of a process share, and the side tables over it.
//!
//! A range is reserved once, at a fixed address, so that the write barrier and the counting passes reach their
//! table entry by shifting the object's address and adding a constant: no load of a base, no heap in hand. Blocks of
//! the range belong to heaps (`block_source`), the tables belong to no heap.
//!
//! ```text
//! HEAP_BASE       objects                           1
//! UNLOGGED_BASE   1 bit  per 16 bytes  (barrier)    1/128
//! COUNTS_BASE     1 byte per 16 bytes  (counts)     1/16
//! LIVE_BASE       1 bit  per 8 bytes   (cells)      1/64    prompt plan: what a batch found alive
//! TRIAL_BASE      1 byte per 16 bytes  (trials)     1/16    all zero outside a trial, or, prompt plan, a mark's proof
//! MARK_BASE       1 bit  per 16 bytes  (mark)       1/128
//! BUFFERED_BASE   1 bit  per 8 bytes   (candidates) 1/64
//! BLOCK_INFO_BASE 32 bytes per block of 32 KiB      1/1024
//! TYPE_TABLE_BASE 16 bytes per type id              128 MiB   what the heap knows of it; how its words are read
//! RECORD_BASE     4 bytes per 8 bytes  (records)    1/2     of special objects, and of weak slots
//! ```
//!
//! An object's payload addresses differ by at least 16 bytes (a cell is at least 16 bytes), so a 16-byte granule
//! names one object. All tables are mapped without reserving memory: what is never touched costs nothing.
//!
//! This file and `bit_table` are where integers become pointers. `[HEADER]`

use crate::arch;
use crate::memory::bit_table::BitTable;
use crate::memory::layout::Layout;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The addresses of this process.
const LAYOUT: Layout = match arch::ADDRESS_BITS {
    39 => Layout::AARCH64,
    38 => Layout::RISCV64,
    _ if cfg!(tally_tsan) => Layout::X86_64_TSAN,
    _ => Layout::X86_64,
};

/// Lowest address of the heap range.
pub const HEAP_BASE: u64 = LAYOUT.heap_base;
/// Bytes of address space in which a reference counts as a heap reference; at most this much is reserved.
pub const HEAP_SPAN: u64 = LAYOUT.heap_span;
/// Base of the *unlogged* bits that the write barrier reads.
pub const UNLOGGED_BASE: u64 = LAYOUT.unlogged;
/// `((object >> 9) << 2) + UNLOGGED_BIAS` is the address of the 32-bit word with the object's unlogged bit.
pub const UNLOGGED_BIAS: u64 = LAYOUT.unlogged_bias();
/// `(object >> 4) + COUNTS_BIAS` is the address of the object's count byte.
pub(crate) const COUNTS_BIAS: u64 = LAYOUT.counts_bias();
/// Base of the count bytes; compiled code of the prompt plan changes them inline.
#[cfg(test)]
pub(crate) const COUNTS_BASE: u64 = LAYOUT.counts;
const LIVE_BASE: u64 = LAYOUT.live;
const TRIAL_BASE: u64 = LAYOUT.trial;
const MARK_BASE: u64 = LAYOUT.mark;
const BUFFERED_BASE: u64 = LAYOUT.buffered;
const BLOCK_INFO_BASE: u64 = LAYOUT.block_info;
pub(crate) const TYPE_TABLE_BASE: u64 = LAYOUT.types;
/// `READING_BASE + id * 8` is the address of the number of the reading of type `id` (`word_reading`), which compiled code compares.
pub(crate) const READING_BASE: u64 = LAYOUT.readings();
const RECORD_BASE: u64 = LAYOUT.records;

/// log2 of the block size.
pub(crate) const BLOCK_SHIFT: u32 = 15;
/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 1 << BLOCK_SHIFT;
/// log2 of the largest number of type ids (24 bits of the header).
pub const TYPE_ID_BITS: u32 = 23;

/// Reserved unless `TALLY_RESERVE` or a failing `mmap` says otherwise.
const DEFAULT_RESERVE: u64 = 256 << 30;
/// Reserved under valgrind, whose leak check walks all that is mapped: 256 GiB take it longer than anyone waits.
const RESERVE_UNDER_VALGRIND: u64 = 1 << 30;
const SMALLEST_RESERVE: u64 = 64 << 20;
/// Whether some heap has so short a pause goal that the first touch of a huge page is too long: that takes up to 5 ms, in the midst of
/// the program.
static SHORT_STOPS: AtomicBool = AtomicBool::new(false);
/// A pause goal from which on it is not.
const HUGE_PAGE_NS: u64 = 10_000_000;
/// The part of the range whose memory is asked for in pages of 2 MiB, unless `TALLY_HUGE_PAGES` says otherwise.
const DEFAULT_HUGE_BYTES: u64 = 128 << 20;

/// Why no heap range could be reserved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// Not even the smallest range could be mapped at the fixed address.
    #[error(
        "cannot reserve {bytes} bytes of address space at {address:#x}: {reason}; raise the limit on virtual memory (ulimit -v); a smaller TALLY_RESERVE is of no use, this was the smallest heap"
    )]
    Reserve {
        /// Address asked for.
        address: u64,
        /// Bytes asked for in the last attempt.
        bytes: u64,
        /// The system's reason.
        reason: String,
    },
    /// Something else lies at the fixed address.
    #[error(
        "cannot reserve the heap's tables at {address:#x}: other memory of this process lies there already: that of a second runtime, if \
         a shared library was linked with libtally.a, too; of ThreadSanitizer, with which Tally cannot be used; of a preloaded library"
    )]
    Taken {
        /// Address asked for.
        address: u64,
    },
}

/// Reserves the range and its tables on the first call; later calls return the same result.
///
/// # Errors
/// [`RangeError`] when the address space is not to be had.
pub fn reserve() -> Result<u64, RangeError> {
    static RESERVED: OnceLock<Result<u64, RangeError>> = OnceLock::new();
    RESERVED.get_or_init(reserve_range).clone()
}

/// The size that an environment variable asks for.
fn size_asked(variable: &str) -> Option<u64> {
    crate::environment::size(&crate::environment::variable(variable)?)
}

fn reserve_range() -> Result<u64, RangeError> {
    let asked = size_asked("TALLY_RESERVE")
        .unwrap_or_else(|| if under_valgrind() { RESERVE_UNDER_VALGRIND } else { DEFAULT_RESERVE });
    let mut bytes = asked.clamp(SMALLEST_RESERVE, HEAP_SPAN).next_power_of_two();
    map_fixed(TYPE_TABLE_BASE, 16 << TYPE_ID_BITS)?;
    loop {
        match map_tables(bytes) {
            Ok(()) => return Ok(bytes),
            Err(error) if bytes <= SMALLEST_RESERVE => return Err(error),
            Err(_) => bytes /= 2,
        }
    }
}

/// Valgrind's tools preload a library of their own into the program.
fn under_valgrind() -> bool {
    crate::environment::variable("LD_PRELOAD").is_some_and(|preloaded| preloaded.contains("/vgpreload_"))
}

fn map_tables(bytes: u64) -> Result<(), RangeError> {
    let tables = LAYOUT.parts(bytes);
    for (done, &(address, length)) in tables.iter().enumerate() {
        if let Err(error) = map_fixed(address, length) {
            for &(address, length) in &tables[..done] {
                // SAFETY: exactly what the loop mapped a moment ago; no other code has its address yet.
                unsafe { libc::munmap(address as *mut libc::c_void, length as usize) };
            }
            return Err(error);
        }
    }
    Ok(())
}

fn map_fixed(address: u64, bytes: u64) -> Result<(), RangeError> {
    // SAFETY: MAP_FIXED_NOREPLACE never replaces a mapping that is already there.
    let got = unsafe {
        libc::mmap(
            address as *mut libc::c_void,
            bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if got as u64 == address {
        return Ok(());
    }
    let reason = if got == libc::MAP_FAILED {
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::EEXIST) {
            return Err(RangeError::Taken { address });
        }
        error.to_string()
    } else {
        // SAFETY: an old kernel ignored the flag and mapped elsewhere; the mapping is ours to undo.
        unsafe { libc::munmap(got, bytes as usize) };
        "the kernel placed it elsewhere".to_owned()
    };
    Err(RangeError::Reserve { address, bytes, reason })
}

/// Whether `word` is an address inside the heap range: such a reference is counted and visited, any other is immortal.
#[inline(always)]
pub const fn in_heap(word: u64) -> bool {
    word.wrapping_sub(HEAP_BASE) < HEAP_SPAN
}

/// Whether an address of the heap range lies in the part of it that is reserved, which has tables.
pub fn is_reserved(address: u64) -> bool {
    reserve().is_ok_and(|bytes| address - HEAP_BASE < bytes)
}

/// Number of the block that holds `address`.
#[inline(always)]
pub(crate) const fn block_of(address: u64) -> u32 {
    ((address - HEAP_BASE) >> BLOCK_SHIFT) as u32
}

/// First address of block `block`.
#[inline(always)]
pub const fn block_start(block: u32) -> u64 {
    HEAP_BASE + ((block as u64) << BLOCK_SHIFT)
}

/// 1 while a write to one of these 16 bytes must be logged first, because the object they belong to (or the chunk, of a
/// large one) is mature and not yet logged in the running epoch: all that the write barrier reads. `[LOG]` No two cells
/// have slots in one granule, since there is a header between them.
pub const UNLOGGED: BitTable<UNLOGGED_BASE, 4> = BitTable;
/// 1 for every 8 bytes of a mature cell, header included.
pub const LIVE: BitTable<LIVE_BASE, 3> = BitTable;
/// The same table under the prompt plan: 1 for what a batch has found alive, or a round passes over, while it runs. Not
/// [`MARK`], which a mark in slices has in use meanwhile.
pub const REACHED: BitTable<LIVE_BASE, 3> = BitTable;
/// 1 for objects that the backup mark has reached.
pub const MARK: BitTable<MARK_BASE, 4> = BitTable;
/// 1 for objects in the candidate buffer. `[CANDIDATE]` A bit names one address exactly, not a granule: an entry may outlive
/// its object, and another object may start 8 bytes further on by then.
pub const BUFFERED: BitTable<BUFFERED_BASE, 3> = BitTable;

pub use arch::prefetch;

/// The count byte of the object at `address`.
#[inline(always)]
pub(crate) fn count_cell(address: u64) -> *mut u8 {
    debug_assert!(in_heap(address), "{address:#x} is not in the heap");
    ((address >> 4) + COUNTS_BIAS) as *mut u8
}

/// Asks for the count byte of what `word` refers to to be in the cache soon; any word will do.
#[inline(always)]
pub fn prefetch_count(word: u64) {
    prefetch((word >> 4).wrapping_add(COUNTS_BIAS));
}

/// The trial scratch byte of the object at `address`: zero, or one more than the references to it from inside the
/// running trial; prompt plan: references that a mark has found in what is unmarked.
#[inline(always)]
pub fn trial_cell(address: u64) -> *mut u8 {
    debug_assert!(in_heap(address), "{address:#x} is not in the heap");
    ((address >> 4) + (TRIAL_BASE - (HEAP_BASE >> 4))) as *mut u8
}

/// The number of the record about the word at `address`: of an object's header, the object's own ([`crate::services::special`]); of a
/// weak slot, that slot's ([`crate::services::weak`]). It may be out of date: the record says what it is about.
#[inline(always)]
pub(crate) fn record_cell(address: u64) -> *mut u32 {
    debug_assert!(in_heap(address), "{address:#x} is not in the heap");
    ((address >> 3 << 2) + (RECORD_BASE - (HEAP_BASE >> 1))) as *mut u32
}

/// The data of one block. One thread, the owner of the heap, reads and writes it; any thread may ask for the owner.
#[repr(C, align(32))]
#[derive(Default)]
pub struct BlockInfo {
    /// Epoch in which the block was last opened for allocation; in all blocks of a large object its place in the large table.
    pub age: Cell<u32>,
    /// Single log entries of the running epoch in this block; not zero: it is on the list of logged blocks.
    pub logged: Cell<u16>,
    /// One of the `block::state` constants.
    pub state: Cell<u8>,
    /// The class of the block's longest hole when it was swept.
    pub class: Cell<u8>,
    /// Number of the heap that owns the block.
    pub owner: AtomicU32,
    /// Trace plan: the epoch of the last mark in slices that kept its live bits.
    pub kept: Cell<u32>,
    /// The lists of recyclable blocks that have an entry for the block, a bit each.
    pub listed: Cell<u64>,
    /// The collector has taken the block beyond the heap limit; no use of the program's.
    pub is_beyond_limit: Cell<bool>,
}

pub(crate) const BLOCK_INFO_BYTES: u64 = std::mem::size_of::<BlockInfo>() as u64;
const _: () = assert!(BLOCK_INFO_BYTES == 32);

/// The entry of block `block`.
#[inline(always)]
pub fn block_info(block: u32) -> *const BlockInfo {
    (BLOCK_INFO_BASE + block as u64 * BLOCK_INFO_BYTES) as *const BlockInfo
}

/// Number of the heap that owns block `block`, 0 for none. Any thread may ask: about a block that it gave back, of
/// which another heap's thread may be the owner by now.
///
/// # Safety
/// The block lies in the reserved range.
#[inline(always)]
pub unsafe fn owner_of(block: u32) -> u32 {
    // SAFETY: [MAPPED] the table is mapped for every block of the range.
    unsafe { &*block_info(block) }.owner.load(Ordering::Relaxed)
}

/// The caller's heap owns the block from now on, or with 0 no longer.
///
/// # Safety
/// The block was taken from the range, by the caller.
pub unsafe fn set_owner(block: u32, number: u32) {
    // SAFETY: [MAPPED] the table is mapped for every block of the range.
    unsafe { &*block_info(block) }.owner.store(number, Ordering::Relaxed);
}

/// Makes the entry of a block, which goes back, zero.
///
/// # Safety
/// The block is the caller's until it has gone back, and holds nothing.
pub unsafe fn clear_block_info(block: u32) {
    // SAFETY: [MAPPED] the table is mapped for every block of the range.
    let info = unsafe { &*block_info(block) };
    info.owner.store(0, Ordering::Relaxed);
    info.age.set(0);
    info.logged.set(0);
    info.state.set(0);
    info.class.set(0);
    info.kept.set(0);
    info.listed.set(0);
    info.is_beyond_limit.set(false);
}

/// The entry of type id `id`: a pointer to its `TypeInfo`.
#[inline(always)]
pub(crate) fn type_cell(id: u32) -> *mut u64 {
    debug_assert!(id < 1 << TYPE_ID_BITS);
    (TYPE_TABLE_BASE + id as u64 * 8) as *mut u64
}

/// The number of the reading of type id `id`.
#[inline(always)]
pub(crate) fn reading_cell(id: u32) -> *mut u64 {
    debug_assert!(id < 1 << TYPE_ID_BITS);
    (READING_BASE + id as u64 * 8) as *mut u64
}

/// Has the system provide the memory of the blocks in `start..end`, and of their count bytes, in one go instead of a
/// fault for each page. Only saves time: where the system cannot (Linux before 5.14, valgrind, no memory left) faults
/// provide it, or fail to.
///
/// # Safety
/// The blocks are the caller's.
pub unsafe fn provide_pages(start: u64, end: u64) {
    debug_assert!(in_heap(start));
    let page = arch::page_bytes();
    let (start, end) = (start & !(page - 1), end.next_multiple_of(page));
    let counts = (count_cell(start) as u64 & !(page - 1), (count_cell(end) as u64).next_multiple_of(page));
    for (start, end) in [(start, end), counts] {
        // SAFETY: changes no byte of what is mapped.
        unsafe { libc::madvise(start as *mut libc::c_void, (end - start) as usize, libc::MADV_POPULATE_WRITE) };
    }
}

/// Has the system back the range from `start` on, as far as `TALLY_HUGE_PAGES` allows, with pages of 2 MiB, if it has
/// any. A program that goes through its objects in no order waits less for translations of their addresses then. Not
/// for all of the range: where the system has to make huge pages first, by moving others, it costs more than it saves. Nor
/// where stops are to be shorter than the system takes to clear one, unless the user has asked for them.
pub(crate) fn ask_for_huge_pages(start: u64) {
    let default = if SHORT_STOPS.load(Ordering::Relaxed) { 0 } else { DEFAULT_HUGE_BYTES };
    let bytes = reserve().unwrap_or(0).min(size_asked("TALLY_HUGE_PAGES").unwrap_or(default));
    if HEAP_BASE + bytes > start {
        // SAFETY: changes no byte of what is mapped.
        unsafe {
            libc::madvise(start as *mut libc::c_void, (HEAP_BASE + bytes - start) as usize, libc::MADV_HUGEPAGE);
        }
    }
}

/// A heap of this process has a pause goal: if it is short, the system is not asked for huge pages from now on.
pub(crate) fn note_pause_goal(ns: u64) {
    if ns < HUGE_PAGE_NS {
        SHORT_STOPS.store(true, Ordering::Relaxed);
    }
}

/// Gives the memory of the whole blocks in `start..end` back to the system, and that of the numbers of records behind them; it
/// reads as zero afterwards.
///
/// # Safety
/// The blocks are the caller's, and hold nothing.
pub unsafe fn release_pages(start: u64, end: u64) {
    debug_assert!((start | end) & (BLOCK_BYTES - 1) == 0 && in_heap(start));
    let numbers = record_cell(start) as u64;
    // SAFETY: [OWNED] the caller's blocks hold no object any more.
    unsafe { clear_pages(start, end) };
    // SAFETY: [OWNED] as above; the numbers behind them are nobody else's.
    unsafe { clear_pages(numbers, numbers + (end - start) / 2) };
}

/// Clears the bytes in `start..end`: whole pages by giving them back to the system, which reads them as zero afterwards.
///
/// # Safety
/// The bytes are mapped, and the caller's.
#[inline(always)]
pub(crate) unsafe fn clear_pages(start: u64, end: u64) {
    let (first, last) = whole_pages(start, end, arch::page_bytes());
    if first >= last {
        // SAFETY: by the caller's promise.
        return unsafe { std::ptr::write_bytes(start as *mut u8, 0, (end - start) as usize) };
    }
    // A page may be larger than a block: the rest of the first and the last is another's.
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_bytes(start as *mut u8, 0, (first - start) as usize) };
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_bytes(last as *mut u8, 0, (end - last) as usize) };
    // SAFETY: whole pages within the caller's bytes.
    unsafe { libc::madvise(first as *mut libc::c_void, (last - first) as usize, libc::MADV_DONTNEED) };
}

/// The whole pages of `page` bytes in `start..end`; the second address is not above the first where there is none.
const fn whole_pages(start: u64, end: u64, page: u64) -> (u64, u64) {
    (start.next_multiple_of(page), end & !(page - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::bit_table::Granule;

    #[test]
    fn the_barriers_word_is_the_tables_word() {
        for object in [HEAP_BASE + 8, HEAP_BASE + 16, HEAP_BASE + 4096 + 24, HEAP_BASE + (1 << 33) + 512] {
            let word = ((object >> 9) << 2) + UNLOGGED_BIAS;
            let bit = (object >> 4) & 31;
            let index = (object - HEAP_BASE) >> 4;
            assert_eq!(word, UNLOGGED_BASE + (index / 32) * 4);
            assert_eq!(bit, index % 32);
        }
    }

    #[test]
    fn bytes_beside_the_whole_pages_of_a_block_are_left_to_their_owners() {
        let block = HEAP_BASE + 3 * BLOCK_BYTES;
        assert_eq!(whole_pages(block, block + BLOCK_BYTES, 4 << 10), (block, block + BLOCK_BYTES));
        assert_eq!(whole_pages(block, block + BLOCK_BYTES, 16 << 10), (block, block + BLOCK_BYTES));
        // A page holds two blocks: none of them is whole.
        let (first, last) = whole_pages(block, block + BLOCK_BYTES, 64 << 10);
        assert!(first >= last);
        let (first, last) = whole_pages(block, block + 4 * BLOCK_BYTES, 64 << 10);
        assert_eq!((first, last), (block + BLOCK_BYTES, block + 3 * BLOCK_BYTES));
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn other_memory_at_a_fixed_address_is_named_as_what_it_is() {
        reserve().expect("address space");
        let error = map_fixed(COUNTS_BASE, 4096).expect_err("our own table lies there");
        assert_eq!(error, RangeError::Taken { address: COUNTS_BASE });
        assert!(error.to_string().contains("other memory of this process lies there"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn a_candidate_is_not_mistaken_for_one_that_starts_eight_bytes_before_it() {
        let bytes = reserve().expect("address space");
        let address = HEAP_BASE + bytes - 2 * BLOCK_BYTES + 32;
        // SAFETY: addresses in the range.
        let [at, before] = [address + 8, address].map(|address| unsafe { Granule::at(address) });
        BUFFERED.set(at);
        assert!(BUFFERED.get(at) && !BUFFERED.get(before));
        BUFFERED.clear(at);
    }
}
