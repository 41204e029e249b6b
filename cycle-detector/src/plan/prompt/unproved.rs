//! Garbage that a mark in slices cannot prove dead: an object whose count is more than the references to it. `longjmp`, and an exception that
//! passes code without landing pads, skip frames that counted what their roots held, and nothing takes those counts back. `[BOUND]`
//!
//! A mark that stops the world frees such objects, since it believes the roots and not the counts. One in slices cannot: to its proof
//! (`proof.rs`) they look like what the program has moved since discovery. So a program with a pause goal that leaves frames by `longjmp` would
//! keep everything that those frames held.
//!
//! What the program moves during one mark is found by discovery in the next, most likely. So if two marks in slices in a row found
//! a part of the heap alive by its counts alone, of which one would pay, the world is stopped for one mark. Where that frees less than such a
//! part of what was in doubt, the program does move so much, and twice as many such marks in a row are asked for next time.

use super::garbage_cap::LEAST;
use crate::sample::{EVERY_MAX, PAYS};

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
        // Discovery of the second would have found what the program moved during the first.
        Unproved { in_a_row: 0, wanted: 2, bytes: 0 }
    }
}

impl Unproved {
    /// A mark in slices has ended that found so many bytes alive after discovery, of `live` in all.
    pub(super) fn note_mark_in_slices(&mut self, bytes: u64, live: u64) {
        let much = bytes >= LEAST && bytes >= live / PAYS;
        (self.in_a_row, self.bytes) = if much { (self.in_a_row + 1, bytes) } else { (0, 0) };
    }

    /// Whether a mark is due that stops the world.
    pub(super) fn asks_for_stop(&self) -> bool {
        self.in_a_row >= self.wanted
    }

    /// A mark that stopped the world has freed so many bytes.
    pub(super) fn note_stop(&mut self, freed: u64) {
        if self.asks_for_stop() {
            let has_paid = freed >= self.bytes / PAYS;
            self.wanted = if has_paid { Unproved::default().wanted } else { (2 * self.wanted).min(EVERY_MAX) };
        }
        (self.in_a_row, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_that_free_nothing_become_rare() {
        let mut unproved = Unproved::default();
        let mut marks_before_stop = |freed| {
            let mut marks = 0;
            while !unproved.asks_for_stop() {
                unproved.note_mark_in_slices(2 * LEAST, 4 * LEAST);
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
            for (bytes, live) in [(LEAST, LEAST), (LEAST - 1, LEAST), (LEAST, 9 * LEAST)] {
                unproved.note_mark_in_slices(bytes, live);
                assert!(!unproved.asks_for_stop(), "{bytes} of {live}");
            }
        }
    }
}
