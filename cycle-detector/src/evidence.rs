//! Whether a backup mark would pay: evidence against growth.
//!
//! A mark visits the live heap, and may free nothing. *Suspects* (candidates that trials did not decide, references to
//! stuck counts that went away) say that there may be something; what one of them was worth is learned from each mark.
//! The more they promise, the less the heap must have grown before a mark is started.
//!
//! Both are bounded, and so is garbage:
//!
//! ```text
//! due, given any evidence at all:   growth    >  base × ½ … GROWTH_MAX  +  one epoch
//!                             or    turnover  >  (live + one epoch) × TURNOVER × 1 … 8
//! ```
//!
//! *Base* is what the last mark found alive, without what was born while it ran, or half of the live heap when there was
//! no evidence at all, at least an epoch; *turnover* the bytes allocated and logged since. The first bounds the memory:
//! garbage that no trial finds is less than `GROWTH_MAX` times the live heap and an epoch when a mark begins, and the
//! allocation until it ends comes on top: [`GARBAGE_MAX`] in all. The second bounds the time for which garbage stays that
//! came into being without growth, when one large structure is dropped. A mark that finds nothing costs little by both:
//! one for a heap several times as large as at the last, or one in a turnover of many heaps.
//!
//! Both plans decide so, each by its own `Terms`. The prompt plan notes no epochs, and so has no turnover: what leaves no
//! evidence is bounded by its cap (`garbage_cap`).

use crate::account::Pressure;
use crate::sample::PAYS;

/// Growth since the last mark, in times of the live heap then, at which any evidence is enough.
pub(crate) const GROWTH_MAX: u64 = 8;
/// Turnover since the last mark, in times of the live heap, after which any evidence is enough; up to eight times as
/// much when it is weak, or marks find little.
pub const TURNOVER: u64 = 2 * GROWTH_MAX;
/// Cyclic garbage in times of the live heap, or of an epoch if that is more, at most; not counting three epochs' allocation.
pub const GARBAGE_MAX: u64 = GROWTH_MAX + 2;
/// Turnover of a log entry: a small object and its death.
const BYTES_PER_ENTRY: u64 = 64;
/// The most growth that marks which find little ask for, in halves, and the largest factor of [`TURNOVER`].
const HALVES_MAX: u64 = GROWTH_MAX;
/// Marks in a row that may be given up because counting frees enough.
pub(crate) const ABORTED_MAX: u32 = 2;

/// Growth in halves of the base that is asked for when suspects promise more than one part in so many of the heap: the most
/// promising first.
const PATIENCE: [(u64, u64); 3] = [(4, 1), (64, 4), (1024, 8)];

/// How long a plan waits for a mark.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Its steps of [`PATIENCE`].
    patience: &'static [(u64, u64)],
    /// The same when they promise less.
    of_worthless: u64,
    /// The largest factor of both after marks that found little.
    reluctance_max: u64,
    /// Epochs whose allocation is no growth.
    epochs: u64,
}

/// A mark goes beside the program; what it costs is bounded by [`GROWTH_MAX`] and [`TURNOVER`].
pub(crate) static DEFERRED: Terms =
    Terms { patience: &PATIENCE, of_worthless: 2 * GROWTH_MAX, reluctance_max: 1, epochs: 1 };

/// A mark may stop the world, and the cap of garbage makes one due in any case.
pub(crate) static PROMPT: Terms =
    Terms { patience: PATIENCE.split_at(2).0, of_worthless: 32 * GROWTH_MAX, reluctance_max: HALVES_MAX, epochs: 0 };

/// A heap, as the decision sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Bytes in use, not known to be dead.
    pub(crate) live: u64,
    /// Bytes allocated in an epoch.
    pub(crate) epoch: u64,
    pub(crate) suspects: u64,
    /// Whether there may be garbage although nothing is suspected.
    pub(crate) in_doubt: bool,
}

/// The evidence for a mark.
#[derive(Debug)]
pub(crate) struct Evidence {
    terms: &'static Terms,
    /// Bytes that were alive after the last mark, or half of those when every candidate was decided.
    base: u64,
    /// Bytes allocated, and entries logged as bytes, since then.
    turnover: u64,
    /// Bytes that one suspect turned out to be worth, averaged.
    yield_per_suspect: f64,
    /// The factor of patience after marks that found little.
    reluctance: u64,
    /// Suspects and turnover that the running mark was started for.
    suspects_at_start: u64,
    turnover_at_start: u64,
    /// Marks given up since the last that was not.
    aborted: u32,
    /// If that is more than the base, growth begins there, although it is no base for what is too much: bytes that were not known to
    /// be dead when the last mark was given up, if one was since the last that was not; else the base and what goes, as the last mark
    /// found, when finalizers have run.
    start: u64,
}

impl Default for Evidence {
    fn default() -> Self {
        Evidence::new(&DEFERRED)
    }
}

impl Evidence {
    /// None yet.
    pub(crate) fn new(terms: &'static Terms) -> Evidence {
        Evidence {
            terms,
            base: 0,
            turnover: 0,
            yield_per_suspect: 2048.0,
            reluctance: 1,
            suspects_at_start: 0,
            turnover_at_start: 0,
            aborted: 0,
            start: 0,
        }
    }

    /// An epoch has ended that allocated and logged so much. If every candidate until then was decided, there is no
    /// garbage: the live heap has grown by rights. Half of it is assumed to stay: some may be dropped with
    /// the next candidate.
    pub(crate) fn note_epoch(&mut self, facts: Facts, all_decided: bool, (given_bytes, log_entries): (u64, u64)) {
        self.turnover = self.turnover.saturating_add(given_bytes).saturating_add(log_entries * BYTES_PER_ENTRY);
        if all_decided && facts.suspects == 0 && !facts.in_doubt {
            (self.base, self.turnover) = (self.base.max(facts.live / 2), 0);
        }
    }

    /// Whether a mark is due.
    pub(crate) fn is_enough(&self, facts: Facts) -> bool {
        let Facts { live, epoch, suspects, in_doubt } = facts;
        if suspects == 0 && !in_doubt {
            return false;
        }
        // Growth asked for, in halves of `base`.
        let halves = self.promised(facts).unwrap_or(self.terms.of_worthless) * self.reluctance;
        let grown = live > self.grown_by(halves, self.base.max(self.start), epoch);
        let turned_over = self.turnover / (TURNOVER * halves.min(HALVES_MAX)) > live.saturating_add(epoch);
        grown || turned_over
    }

    /// Whether the heap has grown so far that a mark begins given any evidence, whatever else it could wait for.
    pub(crate) fn is_pressing(&self, facts: Facts) -> bool {
        facts.live > self.grown_by(2 * GROWTH_MAX, self.base, facts.epoch)
    }

    /// Bytes of a heap that has grown by so many halves of `base`, which is an epoch at least.
    fn grown_by(&self, halves: u64, base: u64, epoch: u64) -> u64 {
        let base = base.max(epoch);
        base.saturating_add((base / 2).saturating_mul(halves)).saturating_add(epoch * self.terms.epochs)
    }

    /// The patience with what they promise.
    fn promised(&self, facts: Facts) -> Option<u64> {
        let worth = facts.suspects as f64 * self.yield_per_suspect;
        self.terms.patience.iter().find(|(part, _)| worth > facts.live as f64 / *part as f64).map(|&(_, halves)| halves)
    }

    /// Whether the heap has grown so far that a mark which is running must hurry: the allocation until it ends would exceed
    /// [`GARBAGE_MAX`]. A mark may have begun at [`GROWTH_MAX`] only, so this is halfway between the two.
    pub(crate) fn is_overdue(&self, live: u64, epoch: u64) -> bool {
        live > self.grown_by(GROWTH_MAX + GARBAGE_MAX, self.base, epoch)
    }

    /// How far the heap is on its way there, from where a mark with good evidence begins to where one with some does.
    pub(crate) fn pressure(&self, live: u64, epoch: u64) -> Pressure {
        let [begins, full] = [1, 4].map(|halves| self.grown_by(halves, self.base, epoch));
        Pressure::of(live.saturating_sub(begins), full - begins)
    }

    /// A mark begins, for so many suspects; or begins anew, with more of them.
    pub(crate) fn note_start(&mut self, suspects: u64) {
        self.suspects_at_start += suspects;
        self.turnover_at_start += std::mem::take(&mut self.turnover);
    }

    /// Whether a mark may be given up.
    pub(crate) fn may_abort(&self) -> bool {
        self.aborted < ABORTED_MAX
    }

    /// The mark is given up, and another would be until the heap is larger than `live`: its suspects, to be counted again.
    pub(crate) fn note_abort(&mut self, live: u64) -> u64 {
        self.aborted += 1;
        self.start = live;
        self.turnover = self.turnover.saturating_add(std::mem::take(&mut self.turnover_at_start));
        std::mem::take(&mut self.suspects_at_start)
    }

    /// The mark has freed so many bytes, those included that only finalizers which are to run still need: with them taken for
    /// alive, what the next mark allowed for grew with each. `base` is what it has judged to be alive, without so many `late` bytes,
    /// which go with what finalizers need, although they need no finalizer themselves.
    pub(crate) fn learn(&mut self, base: u64, late: u64, freed: u64) {
        (self.aborted, self.turnover_at_start) = (0, 0);
        (self.base, self.start) = (base, base.saturating_add(late));
        self.reluctance = if freed < base / PAYS { (self.reluctance * 2).min(self.terms.reluctance_max) } else { 1 };
        match std::mem::take(&mut self.suspects_at_start) {
            0 => {}
            suspects => self.yield_per_suspect = (self.yield_per_suspect + freed as f64 / suspects as f64) / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn facts(live_mib: u64, suspects: u64) -> Facts {
        Facts { live: live_mib * MIB, epoch: MIB, suspects, in_doubt: false }
    }

    /// The formula above, with evidence that promises nothing and with evidence that promises much, for both plans.
    #[test]
    fn marks_are_due_by_growth_or_turnover() {
        for (terms, promised, live, turnover, enough) in [
            (&DEFERRED, 0.0, 91, 0, false),
            (&DEFERRED, 0.0, 92, 0, true),
            (&DEFERRED, 0.0, 10, 11 * TURNOVER * 8, false),
            (&DEFERRED, 0.0, 10, 11 * TURNOVER * 8 + 129, true),
            (&DEFERRED, 1e12, 16, 0, false),
            (&DEFERRED, 1e12, 17, 0, true),
            (&DEFERRED, 1e12, 10, 11 * TURNOVER, false),
            (&DEFERRED, 1e12, 10, 12 * TURNOVER, true),
            (&PROMPT, 0.0, 1290, 0, false),
            (&PROMPT, 0.0, 1291, 0, true),
            (&PROMPT, 1e12, 15, 0, false),
            (&PROMPT, 1e12, 16, 0, true),
        ] {
            let base = 10 * MIB;
            let turnover = turnover * MIB;
            let evidence = Evidence { base, turnover, yield_per_suspect: promised, ..Evidence::new(terms) };
            assert_eq!(evidence.is_enough(facts(live, 1)), enough, "{terms:?} {promised} {live} {turnover}");
        }
        for terms in [&DEFERRED, &PROMPT] {
            assert!(!Evidence::new(terms).is_enough(facts(1 << 20, 0)), "nothing at all speaks for one");
        }
    }

    /// Marks that find little ask for more growth, up to eight times as much, until one finds something. Those of the deferred plan,
    /// which go beside the program, do not.
    #[test]
    fn marks_that_find_little_come_later() {
        for (terms, factors) in [(&PROMPT, [2, 4, 8, 8]), (&DEFERRED, [1; 4])] {
            let mut evidence = Evidence::new(terms);
            for factor in factors {
                evidence.learn(16 * MIB, 0, MIB);
                evidence.yield_per_suspect = 1e12;
                let due = 16 + 8 * factor + terms.epochs;
                assert!(
                    !evidence.is_enough(facts(due, 1)) && evidence.is_enough(facts(due + 1, 1)),
                    "{factor} {terms:?}"
                );
            }
            evidence.learn(16 * MIB, 0, 2 * MIB);
            assert_eq!(evidence.reluctance, 1, "it has found an eighth");
        }
    }

    /// A mark that was given up has judged nothing: the next waits for growth, but hurries as it would have without that one.
    #[test]
    fn what_a_mark_that_was_given_up_found_is_no_bound() {
        let evidence = Evidence { base: 4 * MIB, yield_per_suspect: 1e12, ..Evidence::new(&DEFERRED) };
        let is_overdue = |evidence: &Evidence, live| evidence.is_overdue(live * MIB, MIB);
        let mut evidence = evidence;
        assert!(evidence.is_enough(facts(40, 1)) && !is_overdue(&evidence, 40));
        evidence.note_start(1);
        evidence.note_abort(40 * MIB);
        assert!(!evidence.is_enough(facts(40, 1)), "it would be given up again");
        assert!(evidence.is_enough(facts(62, 1)) && is_overdue(&evidence, 62));
    }

    /// What a mark was started for counts for another if it is given up, once: also if it had begun anew meanwhile.
    #[test]
    fn suspects_of_a_mark_that_is_given_up_count_again() {
        let mut evidence = Evidence::new(&PROMPT);
        evidence.note_start(3);
        evidence.note_start(4);
        assert_eq!(evidence.note_abort(0), 7);
        assert_eq!(evidence.note_abort(0), 0, "the next was given up before it began");
        evidence.note_start(5);
        evidence.learn(MIB, 0, MIB);
        assert_eq!(evidence.note_abort(0), 0, "they have been judged");
    }

    /// What goes with what finalizers need goes with the next mark: that begins when the heap has grown beyond it, and hurries as if
    /// it were dead.
    #[test]
    fn what_goes_when_finalizers_have_run_is_no_bound() {
        for (late, overdue) in [(0, false), (30, true)] {
            let mut evidence = Evidence { yield_per_suspect: 1e12, ..Evidence::default() };
            evidence.learn((36 - late) * MIB, late * MIB, 4 * MIB);
            for (live, enough) in [(55, false), (56, true), (63, true)] {
                assert_eq!(evidence.is_enough(facts(live, 1)), enough, "{live} MiB, {late} of them late");
            }
            assert_eq!(evidence.is_overdue(63 * MIB, MIB), overdue, "{late} MiB are late");
        }
    }
}
