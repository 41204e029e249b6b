//! Holes: runs of free bytes between live cells, their classes by size, and the search for them in a block's live bits.
//!
//! ```text
//! class      0    1   …   13    14    15    16    17    18   …     44      45      46
//! bytes     16   24   …  120   128   160   192   224   256   …  24576   28672   32768     the least of the class
//! ```
//!
//! Below [`SMALLEST_HOLE`] a class is one size, above it a fourth of an octave.

use crate::memory::range::{BLOCK_BYTES, LIVE, UNLOGGED, block_start};

/// Shorter holes are used only by heaps that fill holes, and every cell up to this size fits into any other.
pub(crate) const SMALLEST_HOLE: u64 = 128;
/// Bytes of the smallest cell.
pub(crate) const SMALLEST_CELL: u64 = 16;
/// Classes of holes.
pub(crate) const CLASSES: usize = 47;
/// 8-byte words of a block, a live bit each.
pub(crate) const WORDS_PER_BLOCK: u32 = (BLOCK_BYTES / 8) as u32;

/// A run of free bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hole {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Hole {
    /// No byte at all.
    pub(crate) const NONE: Hole = Hole { start: 0, end: 0 };

    /// Its length.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u64 {
        self.end - self.start
    }

    /// Clears the unlogged bits of the slots that it can hold, from `start + 8` to `end - 8`: what is allocated there is young.
    /// The neighbours' slots, at most `start - 8` and at least `end + 8`, lie in other granules.
    #[inline(always)]
    pub(crate) fn clear_unlogged(self) {
        // SAFETY: [OWNED] a block of this heap.
        unsafe { UNLOGGED.clear_range(self.start + 8, self.end) };
    }
}

/// The class of a hole of so many bytes, at least `SMALLEST_CELL`.
#[inline(always)]
pub(crate) fn class_of(bytes: u64) -> usize {
    if bytes < SMALLEST_HOLE {
        return (bytes / 8) as usize - 2;
    }
    let octave = bytes.ilog2();
    14 + 4 * (octave as usize - 7) + (bytes >> (octave - 2) & 3) as usize
}

/// The lowest class of which every hole takes so many bytes; [`CLASSES`] when there is none.
#[inline(always)]
pub(crate) fn class_that_takes(bytes: u64) -> usize {
    let class = class_of(bytes.max(SMALLEST_CELL));
    let is_least = bytes < SMALLEST_HOLE || bytes & ((1 << (bytes.ilog2() - 2)) - 1) == 0;
    class + usize::from(!is_least)
}

/// The first hole of a block, at or behind word `from`, that has at least `bytes`, and the word behind it. Shorter ones are
/// passed to `passed`.
#[inline(always)]
pub(crate) fn find(block: u32, from: u32, bytes: u64, mut passed: impl FnMut(Hole)) -> Option<(Hole, u32)> {
    // SAFETY: [OWNED] the caller's heap owns the block.
    let live = unsafe { LIVE.block_words(block) };
    let (base, mut at) = (block_start(block), from);
    while at < WORDS_PER_BLOCK {
        let start = next_bit(live, at, false);
        at = next_bit(live, start, true);
        let hole = Hole { start: base + u64::from(start) * 8, end: base + u64::from(at) * 8 };
        if hole.bytes() >= bytes {
            return (start < WORDS_PER_BLOCK).then_some((hole, at));
        }
        passed(hole);
    }
    None
}

/// Bytes of the longest hole between live cells.
pub(crate) fn longest(live: &[u64]) -> u64 {
    let (mut longest, mut run) = (0, 0);
    for &word in live {
        let (mut rest, mut left) = (word, 64);
        while rest != 0 {
            let free = rest.trailing_zeros();
            longest = longest.max(run + free);
            rest >>= free;
            let used = (!rest).trailing_zeros();
            rest = rest.checked_shr(used).unwrap_or(0);
            (left, run) = (left - free - used, 0);
        }
        run += left;
    }
    u64::from(longest.max(run)) * 8
}

fn next_bit(words: &[u64], from: u32, set: bool) -> u32 {
    let mut at = from;
    while at < WORDS_PER_BLOCK {
        let word = words[at as usize / 64];
        let rest = (if set { word } else { !word }) >> (at % 64);
        if rest != 0 {
            return at + rest.trailing_zeros();
        }
        at = (at | 63) + 1;
    }
    WORDS_PER_BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_of_a_class_that_takes_a_cell_takes_it_and_the_class_below_has_one_that_does_not() {
        let least: Vec<u64> = (0..CLASSES as u64)
            .map(|class| if class < 14 { 16 + 8 * class } else { (128 + (class - 14) % 4 * 32) << ((class - 14) / 4) })
            .collect();
        for bytes in (SMALLEST_CELL..=BLOCK_BYTES).step_by(8) {
            let class = class_of(bytes);
            assert!(least[class] <= bytes && least.get(class + 1).is_none_or(|&next| bytes < next), "{bytes}");
            let takes = class_that_takes(bytes);
            assert!(least[takes] >= bytes && (takes == 0 || least[takes - 1] < bytes), "{bytes}");
        }
        assert_eq!(class_that_takes(BLOCK_BYTES + 8), CLASSES);
    }

    #[test]
    fn the_longest_hole_may_cross_words_and_reach_the_end() {
        let mut live = [!0_u64; WORDS_PER_BLOCK as usize / 64];
        assert_eq!(longest(&live), 0);
        live[3] = !(1 << 63);
        live[4] = !0b111;
        assert_eq!(longest(&live), 4 * 8);
        live[63] = (1 << 60) - 1;
        live[10] = 0;
        assert_eq!(longest(&live), 64 * 8);
        assert_eq!(longest(&[0; WORDS_PER_BLOCK as usize / 64]), BLOCK_BYTES);
    }
}
