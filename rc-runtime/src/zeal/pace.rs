//! How often zeal looks at the whole heap.
//!
//! An epoch at every safepoint finds what died there, at a cost that does not grow with the heap. A look at every object does
//! cost more the more there are, so over a program that only grows it would be quadratic. Each epoch therefore earns the
//! right to look at a number of objects (`HeapOptions::zeal_looks`, far fewer where there are many), and a look is due when
//! the right to see all of them is earned: at each epoch while there are few, seldom when there are many. Tests of the runtime look
//! every time.

/// Epochs between two marks, at least.
const MARK_EVERY: u64 = 16;
/// More objects than these are many: a look at that many takes longer than a user would wait for each of a hundred epochs.
const MANY: usize = 1024;
/// What an epoch earns where there are many is less by this factor.
const LESS: usize = 64;

/// What was earned since the last look, and the last mark.
#[derive(Debug, Default)]
pub(super) struct Pace {
    earned: usize,
    epochs: u64,
    looks: bool,
}

impl super::Zeal {
    /// An epoch begins: whether the heap is looked over before it, and recounted after it. `looks`: objects per epoch.
    pub fn begin_epoch(&mut self, looks: usize) -> bool {
        self.pace.earned = self.pace.earned.saturating_add(self.looks_earned(looks));
        self.pace.looks = self.pace.earned >= self.living.len();
        if self.pace.looks {
            self.pace.earned = 0;
        }
        self.pace.looks
    }

    fn looks_earned(&self, looks: usize) -> usize {
        if self.living.len() > MANY && looks != usize::MAX { looks.div_ceil(LESS) } else { looks }
    }

    /// Whether the epoch that was begun last is one with a look.
    pub fn looks(&self) -> bool {
        self.pace.looks
    }

    /// The next epoch looks.
    pub fn look_soon(&mut self) {
        self.pace.earned = usize::MAX;
    }

    /// At the end of an epoch: whether a mark is due, which finds what trials have left over.
    pub fn mark_is_due(&mut self, looks: usize) -> bool {
        self.pace.epochs += 1;
        let due = self.pace.epochs >= MARK_EVERY.max((self.living.len() / self.looks_earned(looks).max(1)) as u64);
        if due {
            self.pace.epochs = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::{LESS, MANY};
    use crate::zeal::Zeal;

    /// The objects that are seen are no more than those that epochs pay for, however many there are.
    #[test]
    fn looks_at_a_heap_that_grows_cost_as_much_as_was_earned() {
        let (mut zeal, mut seen) = (Zeal::default(), 0);
        for address in 0..100_000u64 {
            zeal.living.insert(address);
            if zeal.begin_epoch(64) {
                seen += zeal.living.len();
            }
            assert!(address >= 64 || zeal.looks(), "a small heap is looked over at every epoch");
        }
        let earned = 64 * MANY + 64_usize.div_ceil(LESS) * (100_000 - MANY);
        assert!((earned / 4..=earned).contains(&seen), "{seen} of {earned}");
        zeal.look_soon();
        assert!(zeal.begin_epoch(0));
    }

    #[test]
    fn a_heap_that_is_looked_over_each_time_is_marked_every_sixteenth() {
        let mut zeal = Zeal::default();
        zeal.living.extend(0..1000);
        let marks = (0..160).filter(|_| zeal.mark_is_due(usize::MAX)).count();
        assert_eq!(marks, 10);
        assert_eq!((0..160).filter(|_| zeal.mark_is_due(10)).count(), 1);
    }
}
