//! Fragments: holes of opened blocks, and rests of holes, set aside by class for the cells that fit them.
//!
//! Young cells have no live bits, so a block is walked once in an epoch, from its start to its end: a hole that was passed over
//! because one cell did not fit would be lost to all others until the block is swept again. It is a fragment instead. Objects
//! of more than `SMALLEST_HOLE` bytes are always allocated in fragments, a new block being one, too; small ones where
//! holes are filled, which bump the heap's cursor through a fragment as through a hole.
//!
//! A fragment is cut from its start on, until a shorter one takes the cell: long ones are kept for cells that need them. At a flip all
//! are forgotten, since the sweep finds them again. A list has `FRAGMENTS_MAX` entries at most: what there is no room for is found by
//! the next sweep, too.

use super::by_class::ByClass;
use super::hole::{Hole, SMALLEST_CELL, class_of, class_that_takes};

/// Fragments of one class that are remembered.
const FRAGMENTS_MAX: usize = 128;
/// A small cell of more bytes than that is taken out of the shortest fragment that takes it: few would fit any other, and what is left
/// of that is lost to its like.
const WIDE: u64 = 64;
/// From here on fragments are left to cells that need them while small objects have others.
const LONG: u64 = 1024;

/// Fragments by class, and the one that is being cut.
#[derive(Debug)]
pub(crate) struct Fragments {
    cut: Hole,
    others: ByClass<Hole>,
}

impl Default for Fragments {
    fn default() -> Self {
        Fragments { cut: Hole::NONE, others: ByClass::default() }
    }
}

impl Fragments {
    /// Sets a hole aside, if a cell fits it.
    #[inline(always)]
    pub(crate) fn set_aside(&mut self, hole: Hole) {
        if hole.bytes() >= SMALLEST_CELL {
            let class = class_of(hole.bytes());
            if self.others.of(class).len() < FRAGMENTS_MAX {
                self.others.enter_if_possible(class, hole);
            }
        }
    }

    /// The fragment to cut a cell off, with so many bytes: the one that was cut last, unless a shorter one has them. Its unlogged bits
    /// are clear.
    #[inline(always)]
    pub(crate) fn with(&mut self, bytes: u64) -> Option<&mut Hole> {
        if self.cut.bytes() < bytes || self.has_shorter(bytes) {
            let next = self.take(bytes)?;
            let rest = std::mem::replace(&mut self.cut, next);
            self.set_aside(rest);
            self.cut.clear_unlogged();
        }
        Some(&mut self.cut)
    }

    /// Takes a fragment of so many bytes through which a cursor is to be bumped: the longest of those that are not long, so that
    /// one call serves many cells, else the shortest long one; for a wide cell the shortest of all. When there is none, it is what is
    /// left of the one that was being cut. Its unlogged bits are clear.
    #[inline(always)]
    pub(crate) fn take_for_cursor(&mut self, bytes: u64) -> Option<Hole> {
        let hole = if bytes > WIDE { self.take(bytes) } else { self.take_moderate(bytes) };
        let Some(hole) = hole else { return self.take_the_cut_for_cursor(bytes) };
        hole.clear_unlogged();
        Some(hole)
    }

    fn take_moderate(&mut self, bytes: u64) -> Option<Hole> {
        let fitting = self.others.some() & !0_u64 << class_that_takes(bytes);
        let moderate = fitting & !(!0_u64 << class_of(LONG));
        let class = match (moderate, fitting) {
            (0, 0) => return None,
            (0, long) => long.trailing_zeros(),
            (moderate, _) => moderate.ilog2(),
        };
        self.others.take(class as usize)
    }

    fn take_the_cut_for_cursor(&mut self, bytes: u64) -> Option<Hole> {
        let fits = self.cut.bytes() >= bytes;
        fits.then(|| std::mem::replace(&mut self.cut, Hole::NONE))
    }

    /// Whether a fragment that surely has so many bytes is of a class below that of the one that is being cut.
    #[inline(always)]
    fn has_shorter(&self, bytes: u64) -> bool {
        let below = !(!0_u64 << class_of(self.cut.bytes()));
        self.others.some() & below & !0_u64 << class_that_takes(bytes) != 0
    }

    /// Takes the shortest fragment that has so many bytes; of those that may have them by their class, only the newest is looked
    /// at.
    fn take(&mut self, bytes: u64) -> Option<Hole> {
        if self.others.some() == 0 {
            return None;
        }
        let doubtful = class_of(bytes);
        if self.others.of(doubtful).last().is_some_and(|hole| hole.bytes() >= bytes) {
            return self.others.take(doubtful);
        }
        let fitting = self.others.some() & !0_u64 << class_that_takes(bytes);
        if fitting == 0 { None } else { self.others.take(fitting.trailing_zeros() as usize) }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.cut = Hole::NONE;
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(start: u64, bytes: u64) -> Hole {
        Hole { start, end: start + bytes }
    }

    #[test]
    fn the_shortest_that_fits_is_taken_and_what_no_cell_fits_is_not_kept() {
        let mut fragments = Fragments::default();
        for (start, bytes) in [(0, 8), (1000, 48), (2000, 40), (3000, 700), (8000, 4096)] {
            fragments.set_aside(hole(start, bytes));
        }
        assert_eq!(fragments.take(40), Some(hole(2000, 40)));
        assert_eq!(fragments.take(40), Some(hole(1000, 48)));
        assert_eq!(fragments.take(640), Some(hole(3000, 700)), "of the same class, and long enough");
        assert_eq!(fragments.take(16), Some(hole(8000, 4096)));
        assert_eq!(fragments.take(16), None);
    }

    #[test]
    fn a_long_fragment_is_cut_only_where_no_shorter_one_takes_the_cell() {
        let mut fragments = Fragments { cut: hole(0, 4096), ..Fragments::default() };
        assert!(!fragments.has_shorter(64));
        fragments.set_aside(hole(8192, 64));
        assert!(fragments.has_shorter(64) && !fragments.has_shorter(72));
        fragments.set_aside(hole(16384, 8192));
        assert!(!fragments.has_shorter(72), "it is longer");
    }

    #[test]
    #[cfg_attr(miri, ignore = "unlogged bits are cleared")]
    fn a_cursor_gets_the_longest_fragment_that_is_not_long() {
        let base = crate::memory::range::block_start(crate::memory::block_source::take(1).expect("room"));
        let at = |offset: u64, bytes| hole(base + offset, bytes);
        let mut fragments = Fragments { cut: at(16384, 2048), ..Fragments::default() };
        for (offset, bytes) in [(0, 48), (128, 512), (1024, 64), (2048, 4096), (8192, 8192)] {
            fragments.set_aside(at(offset, bytes));
        }
        let order: Vec<_> = std::iter::from_fn(|| fragments.take_for_cursor(56)).collect();
        assert_eq!(order, [at(128, 512), at(1024, 64), at(2048, 4096), at(8192, 8192), at(16384, 2048)]);
        assert_eq!(fragments.take_for_cursor(48), Some(at(0, 48)));
        assert_eq!(fragments.take_for_cursor(16), None);
    }

    #[test]
    fn lists_do_not_grow_without_end() {
        let mut fragments = Fragments::default();
        (0..10_000).for_each(|place| fragments.set_aside(hole(place * 64, 64)));
        assert_eq!((0..10_000).filter(|_| fragments.take(64).is_some()).count(), FRAGMENTS_MAX);
        fragments.set_aside(hole(0, 64));
        fragments.clear();
        assert_eq!(fragments.take(16), None);
    }
}
