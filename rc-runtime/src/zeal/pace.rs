//! How often zeal looks at the whole heap.
//!
//! An epoch at every safepoint finds what died there, at a cost that does not grow with the heap. A look at every object does
//! cost more the more there are, so over a program that only grows it would be quadratic. Each epoch therefore earns the
//! right to look at a number of objects (`HeapOptions::zeal_looks`, far fewer where there are many), and a look is due when
//! the right to see all of them is earned: at each epoch while there are few, seldom when there are many. Tests of the runtime look
//! every time. The dead are kept, and are stepped over: very many of them make looks and marks rarer, too.
//!
//! Trials of the prompt plan are paced, too: without bounds, each follows all that its candidate reaches. Up to [`TRIED`] objects
//! every epoch tries every candidate. With more, an epoch earns [`EARNED_BY_EPOCH`] references to follow, and the next round
//! comes when the last is paid for; what counting finds dead dies at once in any case. So all trials of a program follow
//! `EARNED_BY_EPOCH` references for each safepoint, and one round more.

/// Epochs between two marks, at least.
const MARK_EVERY: u64 = 16;
/// More objects than these are many: a look at that many takes longer than a user would wait for each of a hundred epochs.
const MANY: usize = 1024;
/// Where there are many objects, an epoch earns less by this factor.
const LESS: usize = 64;

/// Up to so many objects, all candidates are tried at each epoch.
const TRIED: usize = 4096;
/// References and stack slots that trials may look at for each epoch, where there are more objects.
pub const EARNED_BY_EPOCH: u64 = 64;

/// Dead objects that a recount steps over in the time that it takes for a living one.
const DEAD_PER_LOOK: usize = 1024;
/// Dead objects that a mark may step over for each epoch since the last.
const DEAD_PER_EPOCH: usize = 256;

/// The units earned since the last look, the last mark, and the last round of trials.
#[derive(Debug, Default)]
pub(super) struct Pace {
    earned: usize,
    epochs: u64,
    looks: bool,
    /// The cost of rounds of trials that epochs have not earned yet.
    trial_debt: u64,
}

impl super::Zeal {
    /// An epoch begins: whether the heap is looked over before it, and recounted after it. `looks`: objects per epoch.
    pub fn begin_epoch(&mut self, looks: usize) -> bool {
        self.pace.earned = self.pace.earned.saturating_add(self.looks_earned(looks));
        self.pace.looks = self.pace.earned >= self.living.len() + self.dead() / DEAD_PER_LOOK;
        if self.pace.looks {
            self.pace.earned = 0;
        }
        self.pace.looks
    }

    /// Objects that have died: their memory is kept.
    fn dead(&self) -> usize {
        self.objects.len().saturating_sub(self.living.len())
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

    /// The next epoch tries all candidates.
    pub(crate) fn try_soon(&mut self) {
        self.pace.trial_debt = 0;
    }

    /// Prompt plan: an epoch wants to try all candidates. Returns whether it may.
    pub fn round_is_due(&mut self, looks: usize) -> bool {
        self.pace.trial_debt = self.pace.trial_debt.saturating_sub(EARNED_BY_EPOCH);
        self.pace.trial_debt == 0 || self.is_small() || looks == usize::MAX
    }

    /// Whether there are so few objects that nothing is spared at any safepoint.
    pub fn is_small(&self) -> bool {
        self.living.len() <= TRIED
    }

    /// A round of trials has looked at so many references and stack slots.
    pub fn note_round(&mut self, units: u64) {
        self.pace.trial_debt = self.pace.trial_debt.saturating_add(units);
    }

    /// At the end of an epoch: whether a mark is due, which finds what trials have left over.
    pub fn mark_is_due(&mut self, looks: usize) -> bool {
        self.pace.epochs += 1;
        let living = self.living.len() / self.looks_earned(looks).max(1);
        let due = self.pace.epochs >= MARK_EVERY.max(living.max(self.dead() / DEAD_PER_EPOCH) as u64);
        if due {
            self.pace.epochs = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::{DEAD_PER_EPOCH, EARNED_BY_EPOCH, LESS, MANY, TRIED};
    use crate::zeal::{Birth, Zeal};

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

    /// Trials that follow the whole heap each time cost what epochs have earned, and a small heap is tried at every one.
    #[test]
    fn rounds_over_a_heap_that_grows_cost_as_much_as_was_earned() {
        let (mut zeal, mut followed, mut largest) = (Zeal::default(), 0, 0);
        for address in 0..50_000u64 {
            zeal.living.insert(address);
            let due = zeal.round_is_due(64);
            assert!(due || zeal.living.len() > TRIED, "a small heap is tried at every epoch");
            if due && zeal.living.len() > TRIED {
                largest = 4 * zeal.living.len() as u64;
                followed += largest;
                zeal.note_round(largest);
            }
        }
        let earned = EARNED_BY_EPOCH * (50_000 - TRIED as u64);
        assert!(followed <= earned + largest && followed >= earned / 2, "{followed} of {earned}");
        assert!(!zeal.round_is_due(64) && zeal.round_is_due(usize::MAX));
        zeal.try_soon();
        assert!(zeal.round_is_due(64));
    }

    /// A program whose objects all die has few that live, and ever more memory.
    #[test]
    fn marks_over_dead_memory_that_grows_cost_as_much_as_was_earned() {
        let (mut zeal, mut marks, mut stepped, mut looks) = (Zeal::default(), 0, 0, 0);
        const EPOCHS: usize = 100_000;
        for address in 0..EPOCHS {
            let birth = Birth { end: 0, type_meta: 0, made: Default::default(), site: 0, died: None, waits: None };
            zeal.objects.insert(address as u64, birth);
            looks += usize::from(zeal.begin_epoch(64));
            if zeal.mark_is_due(64) {
                (marks, stepped) = (marks + 1, stepped + zeal.objects.len());
            }
            assert!(address != 4096 || marks == 4096 / 16, "few dead change nothing: {marks} marks");
        }
        assert!(stepped <= (DEAD_PER_EPOCH + 1) * EPOCHS, "{stepped} stepped over in {marks} marks");
        assert!(looks > EPOCHS / 2, "the few that live are looked at: {looks}");
    }
}
