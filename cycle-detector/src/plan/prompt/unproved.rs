//! Garbage that a mark in slices cannot prove dead: an object whose count is more than the references to it. `longjmp`, and an exception that
//! passes code without landing pads, skip frames that counted what their roots held, and nothing takes those counts back. `[BOUND]`
//!
//! A mark that stops the world frees such objects, since it believes the roots and not the counts. One in slices cannot: to its proof
//! (`proof.rs`) they look like what the program has moved since discovery. So a program with a pause goal that leaves frames by `longjmp` would
//! keep everything that those frames held.
//!
//! What the program moves during one mark is found by discovery in the next, most likely. So if two marks in slices in a row found
//! an eighth of the heap alive by its counts alone, the world is stopped for one mark. Where that frees less than an eighth of what was in
//! doubt, the program does move so much, and twice as many such marks in a row are asked for next time, 256 at most.

use crate::evidence::ABORTED_MAX;
use crate::sample::{EVERY_MAX, PAYS};

/// Marks in a row that left much in doubt, before the world is stopped: as many as may be given up. One of so many is followed by a stop at least.
const FIRST: u32 = ABORTED_MAX;
const MOST: u32 = EVERY_MAX;

#[derive(Debug)]
pub(super) struct Unproved {
    /// Marks in slices, the last ones, that left much in doubt.
    in_a_row: u32,
    /// So many of them make a mark due that stops the world.
    wanted: u32,
    /// Bytes that the last one left in doubt.
    bytes: u64,
}

impl Default for Unproved {
    fn default() -> Self {
        Unproved { in_a_row: 0, wanted: FIRST, bytes: 0 }
    }
}

impl Unproved {
    /// A mark in slices has ended that found so many bytes alive after discovery, of `live` in all; less than `least` is not
    /// worth a mark.
    pub(super) fn note_mark_in_slices(&mut self, bytes: u64, live: u64, least: u64) {
        let much = bytes >= least && bytes >= live / PAYS;
        (self.in_a_row, self.bytes) = if much { (self.in_a_row + 1, bytes) } else { (0, 0) };
    }

    /// Whether a mark is due that stops the world.
    pub(super) fn asks_for_stop(&self) -> bool {
        self.in_a_row >= self.wanted
    }

    /// A mark that stopped the world has freed so many bytes.
    pub(super) fn note_stop(&mut self, freed: u64) {
        if self.asks_for_stop() {
            self.wanted = if freed >= self.bytes / PAYS { FIRST } else { (2 * self.wanted).min(MOST) };
        }
        (self.in_a_row, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: u64 = PAYS << 20;

    #[test]
    fn stops_that_free_nothing_become_rare() {
        let mut unproved = Unproved::default();
        let mut marks_before_stop = |freed| {
            let mut marks = 0;
            while !unproved.asks_for_stop() {
                unproved.note_mark_in_slices(2 * LEAST, 4 * LEAST, LEAST);
                marks += 1;
            }
            unproved.note_stop(freed);
            marks
        };
        assert_eq!([2, 4, 8, 16, 32, 64, 128, 256, 256], [0; 9].map(&mut marks_before_stop));
        assert_eq!([256, 2, 2], [LEAST, LEAST, 0].map(&mut marks_before_stop));
    }

    #[test]
    fn little_in_doubt_asks_for_no_stop() {
        let mut unproved = Unproved::default();
        for _ in 0..10 {
            for (bytes, live) in [(LEAST, LEAST), (LEAST - 1, LEAST), (LEAST, (PAYS + 1) * LEAST)] {
                unproved.note_mark_in_slices(bytes, live, LEAST);
                assert!(!unproved.asks_for_stop(), "{bytes} of {live}");
            }
        }
    }
}
