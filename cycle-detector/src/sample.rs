//! Samples: of candidates that are seldom garbage only some are tried.
//!
//! Orphans and seeds (`round`), trials of objects of one age, and those of all that a candidate reaches have a sample each. Where trials free less than an eighth
//! of a reference followed, only every 2nd, 4th … 256th is tried; one good streak, and all are again.

use crate::prefetch_queue::AHEAD;

/// Trials between two decisions.
const STREAK: u32 = 32;
/// One in so many is tried at least; of batches, too.
pub(crate) const EVERY_MAX: u32 = 256;
/// Work has paid that freed one for so many it looked at: a trial of references, a mark of bytes.
pub(crate) const PAYS: u64 = 8;

/// The sample of one source.
#[derive(Debug)]
pub(crate) struct Sample {
    every: u32,
    at: u32,
    tried: u32,
    freed: u64,
    edges: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { every: 1, at: 0, tried: 0, freed: 0, edges: 0 }
    }
}

impl Sample {
    /// Whether the next candidate is tried.
    #[inline(always)]
    pub(crate) fn takes(&mut self) -> bool {
        self.at += 1;
        if self.at < self.every {
            return false;
        }
        self.at = 0;
        true
    }

    /// Whether the next candidate is not tried, whatever it is.
    #[inline(always)]
    pub(crate) fn passes_over(&mut self) -> bool {
        let passes = self.at + 1 < self.every;
        self.at += u32::from(passes);
        passes
    }

    /// Whether so many are tried that fetching what comes next pays: of those on their way one is tried.
    #[inline(always)]
    pub(crate) fn is_dense(&self) -> bool {
        self.every <= AHEAD as u32
    }

    /// A trial freed so many objects, and followed so many references.
    pub(crate) fn learn(&mut self, freed: u64, edges: u64) {
        self.tried += 1;
        self.freed += freed;
        self.edges += edges;
        // A success among failures is looked into at once, however many those were.
        let is_found = freed != 0 && freed * PAYS >= edges && self.every > 1;
        if self.tried < STREAK && !is_found {
            return;
        }
        let has_paid = is_found || self.freed != 0 && self.freed * PAYS >= self.edges;
        self.every = if has_paid { (self.every / 8).max(1) } else { (self.every * 2).min(EVERY_MAX) };
        (self.tried, self.freed, self.edges) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_luck_makes_trials_rare_and_a_success_makes_them_frequent() {
        let mut sample = Sample::default();
        let mut tries = 0;
        for _ in 0..20_000 {
            if sample.takes() {
                sample.learn(0, 10);
                tries += 1;
            }
        }
        assert!((300..800).contains(&tries), "{tries}");
        let mut unlooked = Sample::default();
        (0..100).for_each(|_| unlooked.learn(0, 0));
        assert!(!(0..3).any(|_| unlooked.takes()), "trials that were not even begun have not paid");
        for _ in 0..400 {
            if sample.takes() {
                sample.learn(4, 9);
            }
        }
        assert!((0..10).all(|_| sample.takes()), "all are tried again");
    }

    /// Whether candidates are looked at first, or passed over unseen, as many of them are tried.
    #[test]
    fn as_many_are_tried_where_those_passed_over_are_not_looked_at() {
        for every in [1, 2, 4, 8, 256] {
            let tried = |unseen: bool| {
                let mut sample = Sample { every, ..Sample::default() };
                (0..4096).filter(|_| !(unseen && sample.passes_over()) && sample.takes()).count()
            };
            assert_eq!((tried(true), tried(false)), (4096 / every as usize, 4096 / every as usize));
        }
    }
}
