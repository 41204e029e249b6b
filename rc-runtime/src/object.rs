//! References, headers and slots: raw memory gets a type here.
//!
//! ```text
//!        −8            −4             0
//!        ┌─────────────┬──────────────┬───────────────── payload ─────────
//!        │ stamp (u32) │ meta (u32)   │ laid out by the frontend
//!        └─────────────┴──────────────┴───────────────────────────────────
//!  stamp: epoch in which the object was allocated or last logged; 0 = mature and clean
//!  meta:  type id (bits 0–22), flags (bits 23–31)
//! ```
//!
//! What each stamp means, E being the running epoch (the protocol of barrier and passes hangs on this table):
//!
//! | stamp | mature | meaning |
//! |---|---|---|
//! | E | no | young: allocated in this epoch; its stores need no work |
//! | E | yes | logged in this epoch; its words of the last flip are in the running log |
//! | E−1 | no | *pending*: young at the last flip; uncounted; still holds the words of the flip `[PENDING]` |
//! | E−1 | yes | *pending*: its entry in the last log has not been reconciled yet `[PENDING]` |
//! | 0 | yes | clean: counted; the first store logs it `[LOG]` |
//!
//! An [`ObjectRef`] promises `[HEADER]`: non-null, 8-aligned, inside the heap range, header initialised. Making one from a
//! word is the unsafe step; reading header fields through it is not.

use crate::memory::range;
use std::num::NonZeroU64;

/// A reference to an object in the heap: the address of its payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectRef(NonZeroU64);

/// The address of a word that holds a reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Slot(u64);

/// A question to an object's flags: whether those that are asked for are as wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlagTest {
    pub(crate) flags: u32,
    pub(crate) wanted: u32,
}

impl FlagTest {
    /// No object passes it.
    pub(crate) const NONE: FlagTest = FlagTest { flags: 0, wanted: 1 };

    #[inline(always)]
    pub(crate) fn is_passed_by(self, object: ObjectRef) -> bool {
        object.meta() & self.flags == self.wanted
    }
}

/// Flags of the header's meta word.
pub mod flag {
    /// Promoted: counted, live bits set.
    pub const MATURE: u32 = 1 << 31;
    /// Dead; the memory is kept because a backup mark is running.
    pub const DEAD: u32 = 1 << 30;
    /// Held by a root at the last flip: not judged by a trial.
    pub const ROOTED: u32 = 1 << 29;
    /// In the large-object space.
    pub const LARGE: u32 = 1 << 28;
    /// Held by a count of its own ([`crate::services::immortal`]): trials stop at it.
    pub const IMMORTAL: u32 = 1 << 27;
    /// No finalizer is to run: it has, it runs, or the object is not registered.
    pub const FINALIZED: u32 = 1 << 26;
    /// From birth: of a type with a finalizer.
    pub const NON_TRIVIAL: u32 = 1 << 25;
    /// Young and dead, with a finalizer, when the increments of a flip are done: it is about to be held. Mature, with a
    /// finalizer and a stuck count: what a mark has found dead with it refers to it.
    pub const FOUND: u32 = 1 << 24;
    /// The heap has a record of the object ([`crate::services::special`]).
    pub const SPECIAL: u32 = 1 << 23;
    /// All flags.
    pub const ALL: u32 = 0xff80_0000;
}

/// Flags of the meta word under the prompt plan. `DEAD`, `LARGE`, `FINALIZED` and `SPECIAL` are those of [`flag`]; bit
/// 31 means another thing there.
pub mod prompt_flag {
    /// From birth: of a type that is never part of a cycle.
    pub const ACYCLIC: u32 = 1 << 31;
    /// Dead; zeal keeps the memory.
    pub const DEAD: u32 = super::flag::DEAD;
    /// The candidate buffer has an entry.
    pub const CANDIDATE: u32 = 1 << 29;
    /// In the large-object space.
    pub const LARGE: u32 = super::flag::LARGE;
    /// On the pending list.
    pub const PENDING: u32 = 1 << 27;
    /// No finalizer is to run: it has, it runs, or the object is not registered.
    pub const FINALIZED: u32 = super::flag::FINALIZED;
    /// From birth: has a finalizer, or references that are not plain words at fixed offsets.
    pub const NON_TRIVIAL: u32 = super::flag::NON_TRIVIAL;
    /// Being taken apart; in a trial: a member of it.
    pub const DYING: u32 = 1 << 24;
    /// The heap has a record of the object.
    pub const SPECIAL: u32 = super::flag::SPECIAL;
    /// Of a meta word: the type, and that it is special. Equal to a remembered one of a plain type, the fields are the same.
    pub const SHAPE: u32 = !super::flag::ALL | SPECIAL | NON_TRIVIAL | LARGE;
}

/// Bytes of the header in front of a payload.
pub const HEADER_BYTES: u64 = 8;
/// No cell is smaller: a 16-byte granule then names one object.
pub(crate) const SMALLEST_CELL: u64 = 16;

impl ObjectRef {
    /// The object whose payload is at `address`.
    ///
    /// # Safety
    /// `address` is the payload of an allocated object of this process: `[HEADER]` holds.
    #[inline(always)]
    pub const unsafe fn from_address(address: u64) -> ObjectRef {
        debug_assert!(range::in_heap(address) && address & 7 == 0);
        // SAFETY: heap addresses are not zero.
        ObjectRef(unsafe { NonZeroU64::new_unchecked(address) })
    }

    /// The object that `word` refers to; `None` for null, and for what lies outside the heap.
    ///
    /// # Safety
    /// As for [`from_address`](Self::from_address), if the word lies in the heap range.
    #[inline(always)]
    pub const unsafe fn of_word(word: u64) -> Option<ObjectRef> {
        // SAFETY: by the caller's promise.
        if range::in_heap(word) { Some(unsafe { ObjectRef::from_address(word) }) } else { None }
    }

    /// Address of the payload.
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0.get()
    }

    /// The slot `offset` bytes into the payload.
    #[inline(always)]
    pub const fn slot(self, offset: u64) -> Slot {
        Slot(self.address() + offset)
    }

    /// The header's stamp.
    #[inline(always)]
    pub fn stamp(self) -> u32 {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *const u32) }
    }

    /// Sets the header's stamp.
    #[inline(always)]
    pub fn set_stamp(self, stamp: u32) {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 8) as *mut u32) = stamp }
    }

    /// The header's meta word.
    #[inline(always)]
    pub fn meta(self) -> u32 {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 4) as *const u32) }
    }

    /// Sets the header's meta word.
    #[inline(always)]
    pub(crate) fn set_meta(self, meta: u32) {
        // SAFETY: [HEADER]
        unsafe { *((self.address() - 4) as *mut u32) = meta }
    }

    /// Whether any of `flags` is set.
    #[inline(always)]
    pub fn has(self, flags: u32) -> bool {
        self.meta() & flags != 0
    }

    /// Sets `flags`.
    #[inline(always)]
    pub fn add_flags(self, flags: u32) {
        self.set_meta(self.meta() | flags);
    }

    /// Clears `flags`.
    #[inline(always)]
    pub fn remove_flags(self, flags: u32) {
        self.set_meta(self.meta() & !flags);
    }

    /// Whether the object has been promoted.
    #[inline(always)]
    pub fn is_mature(self) -> bool {
        self.has(flag::MATURE)
    }

    /// Asks for the header and the count to be in the cache soon.
    #[inline(always)]
    pub fn prefetch(self) {
        range::prefetch(self.address() - HEADER_BYTES);
        range::prefetch(range::count_cell(self.address()) as u64);
    }

    /// Fetches the object's header alone.
    #[inline(always)]
    pub fn prefetch_header(self) {
        range::prefetch(self.address() - HEADER_BYTES);
    }

    /// Fetches the line behind that: objects with more than six references lie in two.
    #[inline(always)]
    pub fn prefetch_next_line(self) {
        range::prefetch(self.address() + 64 - HEADER_BYTES);
    }

    /// Fetches what a mark asks of the object: its header, its count and its mark bit.
    #[inline(always)]
    pub fn prefetch_for_mark(self) {
        self.prefetch();
        range::MARK.prefetch(self.granule());
    }

    /// Fetches the object's count byte alone.
    #[inline(always)]
    pub fn prefetch_count(self) {
        range::prefetch(range::count_cell(self.address()) as u64);
    }

    /// The block that holds the object's header.
    #[inline(always)]
    pub fn block(self) -> u32 {
        range::block_of(self.address() - HEADER_BYTES)
    }

    /// The object's count: 255 is stuck.
    #[inline(always)]
    pub fn count(self) -> u8 {
        // SAFETY: [MAPPED] the counts of the reserved range are mapped.
        unsafe { *range::count_cell(self.address()) }
    }

    /// Deferred plan: whether counting, or a mark, has found the mature object dead. It keeps its memory while a log names it, and
    /// while a mark runs.
    #[inline(always)]
    pub fn is_known_dead(self) -> bool {
        self.has(flag::DEAD) || self.count() == 0
    }

    /// Sets the object's count.
    #[inline(always)]
    pub fn set_count(self, count: u8) {
        // SAFETY: [MAPPED] the counts of the reserved range are mapped.
        unsafe { *range::count_cell(self.address()) = count }
    }
}

impl std::fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "object {:#x}", self.address())
    }
}

impl Slot {
    /// The slot at `address`.
    ///
    /// # Safety
    /// `address` is an aligned word that may be read and written while the slot is in use.
    #[inline(always)]
    pub const unsafe fn from_address(address: u64) -> Slot {
        Slot(address)
    }

    /// The slot's address.
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0
    }

    /// The word in the slot.
    #[inline(always)]
    pub fn read(self) -> u64 {
        // SAFETY: by `from_address` or [HEADER].
        unsafe { *(self.0 as *const u64) }
    }

    /// Overwrites the word and the next one, without a barrier.
    #[inline(always)]
    pub(crate) fn store_pair(self, [first, second]: [u64; 2]) {
        self.store(first);
        Slot(self.0 + 8).store(second);
    }

    /// Overwrites the word, without a barrier.
    #[inline(always)]
    pub fn store(self, word: u64) {
        // SAFETY: by `from_address` or [HEADER].
        unsafe { *(self.0 as *mut u64) = word }
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "slot {:#x}", self.0)
    }
}
