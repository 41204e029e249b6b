//! Tables of bits over the heap: which granules are unlogged, live, marked, buffered.
//!
//! A table lies at a fixed address, so that the word of an object's bit is found by shifting its address and adding a
//! constant. Which tables there are, and where, is said in [`range`](crate::memory::range), which maps them. One thread at a
//! time owns the block behind a word.

use crate::memory::range::{BLOCK_BYTES, BLOCK_SHIFT, HEAP_BASE, block_start, clear_pages, in_heap, prefetch};
use crate::object::{ObjectRef, Slot};

/// The bytes in the heap behind one bit: of an object, its first; of a slot, its own. `[HELD]`
#[derive(Debug, Clone, Copy)]
pub struct Granule(u64);

impl Granule {
    /// The granule at `address`.
    ///
    /// # Safety
    /// The address lies in the reserved range.
    #[inline(always)]
    pub const unsafe fn at(address: u64) -> Granule {
        Granule(address)
    }
}

impl ObjectRef {
    /// The object's place in the bit tables.
    #[inline(always)]
    pub const fn granule(self) -> Granule {
        Granule(self.address())
    }
}

impl Slot {
    /// The place in the bit tables of a slot in the heap.
    #[inline(always)]
    pub const fn granule(self) -> Granule {
        Granule(self.address())
    }
}

/// A bit table over the heap.
///
/// `SHIFT` is log2 of the heap bytes behind one bit.
#[derive(Clone, Copy)]
pub struct BitTable<const BASE: u64, const SHIFT: u32>;

impl<const BASE: u64, const SHIFT: u32> BitTable<BASE, SHIFT> {
    /// The address that the word for address 0 would have: a table is indexed by addresses as they are.
    const BIAS: u64 = BASE - (HEAP_BASE >> (SHIFT + 3));

    #[inline(always)]
    fn index(address: u64) -> u64 {
        debug_assert!(in_heap(address), "{address:#x} is not in the heap");
        address >> SHIFT
    }

    #[inline(always)]
    fn word(index: u64) -> *mut u64 {
        (((index >> 6) << 3) + Self::BIAS) as *mut u64
    }

    /// Asks for the bit's word to be in the cache soon.
    #[inline(always)]
    pub fn prefetch(self, of: Granule) {
        prefetch(Self::word(Self::index(of.0)) as u64);
    }

    /// Asks for the bit's word of what `word` refers to; any word will do.
    #[inline(always)]
    pub(crate) fn prefetch_of(self, word: u64) {
        prefetch(((word >> (SHIFT + 6)) << 3).wrapping_add(Self::BIAS));
    }

    /// Asks for all words of block `block` to be in the cache soon.
    #[inline(always)]
    pub(crate) fn prefetch_block(self, block: u32) {
        let bits = block_start(block)..block_start(block) + BLOCK_BYTES;
        for line in bits.step_by(512 << SHIFT) {
            prefetch(Self::word(line >> SHIFT) as u64);
        }
    }

    /// Asks for the memory of a block behind each bit that is set to be in the cache soon. They come side by side; a walk that has to read
    /// one to find the next waits for each.
    ///
    /// # Safety
    /// The block is owned by a heap of this thread.
    #[inline(always)]
    pub(crate) unsafe fn prefetch_behind(self, block: u32) {
        let mut start = block_start(block);
        // SAFETY: by the caller's promise.
        for &word in unsafe { self.block_words(block) }.iter() {
            let mut rest = word;
            while rest != 0 {
                prefetch(start + (u64::from(rest.trailing_zeros()) << SHIFT));
                rest &= rest - 1;
            }
            start += 64 << SHIFT;
        }
    }

    /// Reads the bit of a granule.
    #[inline(always)]
    pub fn get(self, of: Granule) -> bool {
        let index = Self::index(of.0);
        // SAFETY: [HEADER] the address is in the reserved range, whose table is mapped.
        unsafe { *Self::word(index) >> (index & 63) & 1 != 0 }
    }

    /// Sets the bit of a granule.
    #[inline(always)]
    pub fn set(self, of: Granule) {
        let index = Self::index(of.0);
        // SAFETY: [MAPPED] the address is in the reserved range; one thread at a time owns the block behind this word.
        unsafe { *Self::word(index) |= 1 << (index & 63) };
    }

    /// Clears the bit of a granule.
    #[inline(always)]
    pub fn clear(self, of: Granule) {
        let index = Self::index(of.0);
        // SAFETY: [MAPPED] the address is in the reserved range, and one thread at a time owns the block behind this
        // word.
        unsafe { *Self::word(index) &= !(1 << (index & 63)) };
    }

    /// Sets every bit behind the bytes `start..end`.
    ///
    /// # Safety
    /// The bytes lie in blocks of a heap of this thread.
    pub unsafe fn set_range(self, start: u64, end: u64) {
        self.fill(start, end, true);
    }

    /// Clears every bit behind the bytes `start..end`.
    ///
    /// # Safety
    /// The bytes lie in blocks of a heap of this thread.
    pub(crate) unsafe fn clear_range(self, start: u64, end: u64) {
        self.fill(start, end, false);
    }

    /// Sets every bit behind the bytes `start..end`; made for the one or two words of a small cell.
    ///
    /// # Safety
    /// The bytes lie in a block of a heap of this thread.
    #[inline(always)]
    pub unsafe fn set_cell(self, start: u64, end: u64) {
        self.fill_few(Self::index(start), (end - start) >> SHIFT, true);
    }

    /// Clears every bit behind the bytes `start..end`; made for the one or two words of a small cell.
    ///
    /// # Safety
    /// The bytes lie in a block of a heap of this thread.
    #[inline(always)]
    pub unsafe fn clear_cell(self, start: u64, end: u64) {
        self.fill_few(Self::index(start), (end - start) >> SHIFT, false);
    }

    /// `bits` bits from the `index`th on; made for those within one word.
    #[inline(always)]
    fn fill_few(self, index: u64, bits: u64, ones: bool) {
        if (index & 63) + bits > 64 {
            return self.fill(index << SHIFT, (index + bits) << SHIFT, ones);
        }
        let mask = (u64::MAX >> (64 - bits)) << (index & 63);
        // SAFETY: [MAPPED] the address is in the reserved range, and one thread at a time owns the block behind this
        // word.
        let word = unsafe { &mut *Self::word(index) };
        *word = if ones { *word | mask } else { *word & !mask };
    }

    #[inline(never)]
    fn fill(self, start: u64, end: u64, ones: bool) {
        let (mut index, last) = (Self::index(start), (end + (1 << SHIFT) - 1) >> SHIFT);
        while index < last {
            let run = (64 - (index & 63)).min(last - index);
            let mask = (u64::MAX >> (64 - run)) << (index & 63);
            // SAFETY: [MAPPED] the address is in the reserved range, and one thread at a time owns the block behind
            // this word; `last` is at most one past the table's final bit.
            let word = unsafe { &mut *Self::word(index) };
            *word = if ones { *word | mask } else { *word & !mask };
            index += run;
        }
    }

    /// Clears every bit behind the bytes `start..end`, which may begin and end within a bit's.
    ///
    /// # Safety
    /// The bytes lie in a block of a heap of this thread.
    #[inline(always)]
    pub(crate) unsafe fn clear_touched(self, start: u64, end: u64) {
        let (index, last) = (Self::index(start), Self::index(end - 1));
        self.fill_few(index, last - index + 1, false);
    }

    /// Clears every bit behind `count` blocks from `first` on; whole pages of the table go back to the system.
    ///
    /// # Safety
    /// The blocks are those of a heap of this thread.
    pub unsafe fn zero_blocks(self, first: u32, count: u32) {
        let bits = |block: u32| Self::word(Self::index(block_start(block))) as u64;
        let (start, end) = (bits(first), bits(first + count));
        // SAFETY: [OWNED] the table's words behind the caller's blocks.
        unsafe { clear_pages(start, end) };
    }

    /// The first address from `address` on whose bit is set, in the block that ends at `end`.
    ///
    /// # Safety
    /// The addresses lie in a block of the reserved range.
    #[inline(always)]
    pub unsafe fn next_in_block(self, address: u64, end: u64) -> Option<u64> {
        let (mut index, last) = (Self::index(address), end >> SHIFT);
        while index < last {
            // SAFETY: [MAPPED] the address is in the reserved range; : before `last`.
            let rest = unsafe { *Self::word(index) } >> (index & 63);
            if rest != 0 {
                return Some((index + rest.trailing_zeros() as u64) << SHIFT);
            }
            index = (index | 63) + 1;
        }
        None
    }

    /// The 64-bit words behind block `block`.
    ///
    /// # Safety
    /// The caller owns the block, and keeps no other reference to these words meanwhile.
    #[inline(always)]
    pub unsafe fn block_words<'a>(self, block: u32) -> &'a mut [u64] {
        let bits = Self::index(block_start(block));
        // SAFETY: [MAPPED] the words of a whole block lie in the table; exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(Self::word(bits), 1 << (BLOCK_SHIFT - SHIFT - 6)) }
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::range::{BLOCK_BYTES, HEAP_BASE, UNLOGGED, reserve};

    #[test]
    #[cfg_attr(miri, ignore = "the heap range is mapped at fixed addresses")]
    fn ranges_of_bits_are_exact() {
        let bytes = reserve().expect("address space");
        let base = HEAP_BASE + bytes - BLOCK_BYTES;
        // SAFETY: addresses in the range.
        let get = |address| UNLOGGED.get(unsafe { super::Granule::at(address) });
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.set_range(base + 16, base + 16 * 200) };
        assert!(!get(base) && get(base + 16) && get(base + 16 * 199));
        assert!(!get(base + 16 * 200));
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.clear_range(base + 16 * 64, base + 16 * 128) };
        assert!(get(base + 16 * 63) && !get(base + 16 * 64) && get(base + 16 * 128));
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.clear_range(base, base + BLOCK_BYTES) };
        assert!(!get(base + 16 * 5));
    }
}
