//! Where a list's entries lie: in the allocator's memory, or in blocks of the heap range. `[MEMORY]`

use crate::fatal::{self, STATUS_MEMORY};
use crate::memory::range::{self, BLOCK_BYTES};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr::NonNull;

/// Bytes that a list has first.
const FIRST_BYTES: usize = 64;

/// Memory for `room` entries, none of which it knows.
pub(super) struct Memory<T> {
    start: NonNull<T>,
    room: usize,
}

impl<T> Memory<T> {
    const SIZED: () = assert!(size_of::<T>() != 0 && size_of::<T>() < BLOCK_BYTES as usize && align_of::<T>() <= 16);

    #[inline(always)]
    pub(super) const fn none() -> Memory<T> {
        Memory { start: NonNull::dangling(), room: 0 }
    }

    #[inline(always)]
    pub(super) const fn start(&self) -> *mut T {
        self.start.as_ptr()
    }

    #[inline(always)]
    pub(super) const fn room(&self) -> usize {
        self.room
    }

    /// Makes room for `more` than the `len` there are, at least; false when there is no memory.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, len: usize, more: usize) -> bool {
        let Some(wanted) = len.checked_add(more) else { return false };
        let ample = wanted.max(self.room.saturating_mul(2)).max(FIRST_BYTES / size_of::<T>());
        self.grow_to(len, ample) || self.grow_to(len, wanted)
    }

    /// Makes room for `room` entries, of which there are `len`.
    #[cold]
    pub(super) fn grow_to(&mut self, len: usize, room: usize) -> bool {
        let () = Self::SIZED;
        let Ok(layout) = Layout::array::<T>(room) else { return false };
        self.grow_in_place(layout) || self.move_to_blocks(len, layout.size())
    }

    /// Asks the allocator for more.
    fn grow_in_place(&mut self, layout: Layout) -> bool {
        if self.is_of_range() {
            return false;
        }
        let start = match self.room {
            // SAFETY: a layout that is not empty.
            0 => unsafe { alloc(layout) },
            // SAFETY: a layout that is not empty; the memory is the allocator's, of the layout that it was asked for.
            _ => unsafe { realloc(self.start().cast(), self.layout(), layout.size()) },
        };
        let Some(start) = NonNull::new(start.cast::<T>()) else { return false };
        (self.start, self.room) = (start, layout.size() / size_of::<T>());
        true
    }

    #[cold]
    fn move_to_blocks(&mut self, len: usize, bytes: usize) -> bool {
        let Ok(count) = u32::try_from(bytes.div_ceil(BLOCK_BYTES as usize)) else { return false };
        let Some(first) = crate::memory::block_source::take_for_lists(count) else { return false };
        let start = NonNull::new(range::block_start(first) as *mut T).expect("no block is at 0");
        // SAFETY: the blocks are this list's from now on, and have room for what there is.
        unsafe { start.as_ptr().copy_from_nonoverlapping(self.start(), len) };
        self.give_back();
        (self.start, self.room) = (start, (count as u64 * BLOCK_BYTES) as usize / size_of::<T>());
        true
    }

    pub(super) fn give_back(&mut self) {
        if self.is_of_range() {
            let bytes = (self.room * size_of::<T>()) as u64;
            let first = range::block_of(self.start() as u64);
            // SAFETY: [OWNED] the block is this heap's, and holds nothing.
            unsafe { crate::memory::block_source::give_back(first, bytes.div_ceil(BLOCK_BYTES) as u32) };
        } else if self.room != 0 {
            // SAFETY: the allocator's, of this layout.
            unsafe { dealloc(self.start().cast(), self.layout()) };
        }
        *self = Memory::none();
    }

    fn is_of_range(&self) -> bool {
        range::in_heap(self.start() as u64)
    }

    fn layout(&self) -> Layout {
        Layout::array::<T>(self.room).expect("as it was asked for")
    }
}

impl Memory<u64> {
    /// Memory for `room` zeros.
    pub(super) fn zeroed(room: usize) -> Option<Memory<u64>> {
        let mut memory = Memory::none();
        if room == 0 {
            return Some(memory);
        }
        let layout = Layout::array::<u64>(room).ok()?;
        // SAFETY: the layout is not empty.
        if let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<u64>()) {
            return Some(Memory { start, room });
        }
        // Blocks are handed out zeroed.
        memory.move_to_blocks(0, layout.size()).then_some(memory)
    }
}

/// Neither the allocator nor the heap range has memory for what cannot be given up.
#[cold]
#[inline(never)]
pub(super) fn none_left() -> ! {
    fatal::stop(
        STATUS_MEMORY,
        "the system has no memory for the collector's lists, and the heap's address range is used up; set a lower heap limit, or \
         TALLY_RESERVE to a larger range",
    )
}
