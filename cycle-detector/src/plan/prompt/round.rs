//! Rounds: which candidates are tried, and what becomes of the others.
//!
//! | candidates | come from |
//! |---|---|
//! | `heap.candidates` | references that the program dropped from objects and globals, and what roots hold (`root_snapshot`) |
//! | orphans | references that something dead held |
//! | seeds | the batch: young objects that something outside it holds; a decrement of theirs that came before was not noted |
//!
//! A round tries as many as cells were handed out since the last one, oldest first; the others are left for the next.
//! Each is tried with objects of about its age, and if that finds nothing with all that it reaches, as far as the budgets
//! allow. What seldom succeeds is sampled (`sample`): orphans, seeds, trials of the candidate's age, and trials of all
//! that it reaches. One that was cut off is a suspect. It keeps flag and settled byte, without its bit, and
//! is left alone until a mark comes by evidence; so does a candidate of the first kind that was passed over.

use crate::plan::prompt::exact_trial::{ExactTrials, Verdict, unbuffer};
use crate::plan::prompt::levels::LEVELS;
use crate::prefetch_queue::AHEAD;
use crate::sample::Sample;
use tally_heap::memory::list::List;
use tally_heap::memory::range::{BUFFERED, REACHED};
use tally_heap::object::prompt_flag;
use tally_heap::plan::prompt::FIRST_ROUND;
use tally_heap::report::epoch_report::EpochReport;
use tally_heap::{Heap, ObjectRef};

/// Candidates that are tried with every batch, and orphans and seeds that make a round due.
const FEW: usize = FIRST_ROUND / 8;
/// Candidates that a round tries, or as many as cells were handed out since the last; the others are left for the next.
pub(super) const AT_ONCE: usize = 4 * FIRST_ROUND;
/// Units of a candidate besides the references followed.
const UNITS_PER_CANDIDATE: i64 = 4;
/// Candidates that wait for one level, at most.
const WAITING_MAX: usize = 8 * AT_ONCE;

/// Candidates of one kind.
#[derive(Debug, Default)]
pub(super) struct Source {
    sample: Sample,
    candidates: List<ObjectRef>,
}

/// Why it is a candidate's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It has been noted.
    Noted,
    /// It is an orphan or a seed.
    Brought,
    /// It has waited for the budget of a level.
    Waited(usize),
}

impl ExactTrials {
    /// Tries candidates, oldest first; without bounds, every one of them. Returns how many objects were freed.
    pub(crate) fn round(&mut self, heap: &mut Heap, report: &mut EpochReport, unbounded: bool) -> u64 {
        self.members.clear();
        if !self.members.try_reserve(LEVELS[0]) {
            // Candidates stay what they are.
            return 0;
        }
        let handed = heap.prompt.cells.handed_cells();
        let cells = handed - std::mem::replace(&mut heap.prompt.handed_at_round, handed);
        self.fill_budget(cells);
        let mut freed = self.try_sources(heap, report, unbounded);
        let most = if unbounded { usize::MAX } else { AT_ONCE.max(cells as usize) };
        let mut tried = most.min(self.left_over() + heap.candidates.len());
        let had_none_left = self.left_over() == 0;
        for at in 0..tried {
            if self.slice.ends() {
                tried = at;
                break;
            }
            if self.left_over() == 0 {
                self.backlog.clear();
                std::mem::swap(&mut self.backlog, &mut heap.candidates);
                self.backlog_at = 0;
                self.catches_up = had_none_left && at == 0;
            }
            let candidate = self.backlog[self.backlog_at];
            self.backlog_at += 1;
            if let Some(soon) = self.backlog.get(self.backlog_at + AHEAD) {
                soon.prefetch();
                BUFFERED.prefetch(soon.granule());
            }
            freed += self.try_at(heap, report, candidate, Turn::Noted, unbounded);
            freed += self.try_sources(heap, report, unbounded);
        }
        for level in 0..LEVELS.len() {
            while !self.slice.ends() && (unbounded || self.can_pay(level)) {
                let Some(candidate) = self.waiting[level].pop_front() else { break };
                freed += self.try_at(heap, report, candidate, Turn::Waited(level), unbounded);
            }
        }
        freed += self.try_sources(heap, report, unbounded);
        heap.statistics.candidates += tried as u64;
        match heap.candidates.try_reserve(self.held.len()) {
            true => heap.candidates.append(&mut self.held),
            false => self.held.drain(..).for_each(|candidate| give_up(heap, candidate)),
        }
        freed
    }

    /// Tries a candidate; the number of objects freed.
    fn try_at(
        &mut self,
        heap: &mut Heap,
        report: &mut EpochReport,
        candidate: ObjectRef,
        turn: Turn,
        unbounded: bool,
    ) -> u64 {
        self.slice.spend(UNITS_PER_CANDIDATE);
        // It may have died meanwhile: then the bit is clear, or, of a large object, another heap's.
        if !heap.still_owns(candidate) || !BUFFERED.get(candidate.granule()) {
            return 0;
        }
        debug_assert!(candidate.has(prompt_flag::CANDIDATE));
        if REACHED.get(candidate.granule()) {
            if !self.held.try_push(candidate) {
                give_up(heap, candidate);
            }
            return 0;
        }
        if candidate.has(prompt_flag::DYING) {
            // Being taken apart in slices; its stamp is no count.
            return 0;
        }
        if !heap.options().trials && !unbounded {
            give_up(heap, candidate);
            return 0;
        }
        if may_not_be_judged(candidate) {
            unbuffer(candidate);
            return 0;
        }
        report.trials += 1;
        heap.statistics.trial_runs += 1;
        let waited = if let Turn::Waited(level) = turn { Some(level) } else { None };
        let verdict = self.trial(heap, candidate, waited, unbounded);
        heap.statistics.trial_edges += self.edges as u64;
        self.slice.spend(self.edges);
        match verdict {
            Verdict::Live | Verdict::Finalizing => {
                if !heap.services.specials.is_empty() {
                    self.suspect_keys(heap);
                }
                0
            }
            Verdict::LeftToMark => {
                give_up(heap, candidate);
                0
            }
            Verdict::Garbage(objects) => {
                report.freed_by_trial += objects;
                objects
            }
            Verdict::Undecided(level) => {
                let may_wait = level < self.levels && self.waiting[level].len() < WAITING_MAX;
                if !may_wait || !self.waiting[level].try_push_back(candidate) {
                    give_up(heap, candidate);
                }
                0
            }
            Verdict::PassedOver => {
                heap.prompt.passed_over.note();
                match turn {
                    // The next decrement may tell.
                    Turn::Brought => unbuffer(candidate),
                    _ => BUFFERED.clear(candidate.granule()),
                }
                0
            }
        }
    }

    /// The object loses a reference from something dead. It may be part of another dead ring; or of a large live heap that rings
    /// hang on, and then it would be a candidate for each of them.
    pub(super) fn release(&mut self, heap: &mut Heap, target: ObjectRef) {
        if !heap.decrement_unnoted(target) {
            return;
        }
        if !self.unbounded && !self.orphans.sample.takes() {
            heap.prompt.passed_over.note();
        } else if heap.flag_candidate(target) && !self.orphans.candidates.try_push(target) {
            give_up(heap, target);
        }
    }

    /// A young object was held from outside; it becomes a candidate when its batch has ended.
    pub(super) fn seed(&mut self, heap: &mut Heap, object: ObjectRef) {
        if !self.unbounded && !self.seeds.sample.takes() || !self.new_seeds.try_push(object) {
            heap.prompt.passed_over.note();
        }
    }

    /// The batch has ended: its seeds have grown up. Those of earlier batches that still wait are not looked at: they
    /// may have died.
    pub(super) fn note_seeds(&mut self, heap: &mut Heap) {
        for seed in self.new_seeds.drain(..) {
            let noted = seed.has(prompt_flag::CANDIDATE) || heap.flag_candidate(seed);
            if noted && !self.seeds.candidates.try_push(seed) {
                give_up(heap, seed);
            }
        }
    }

    /// Whether there are enough candidates for a round, or so few that it costs nothing: they may hold up much.
    pub(super) fn are_due(&self, heap: &Heap) -> bool {
        let others = self.orphans.candidates.len() + self.seeds.candidates.len();
        self.left_over() != 0
            || heap.candidates.len() >= heap.prompt.round_at
            || heap.candidates.len() < FEW
            || others >= FEW
    }

    /// Tries orphans and seeds; the number of objects freed.
    fn try_sources(&mut self, heap: &mut Heap, report: &mut EpochReport, unbounded: bool) -> u64 {
        let mut freed = 0;
        while !self.slice.ends() {
            let (orphan, candidate) = match self.orphans.candidates.pop() {
                Some(orphan) => (true, orphan),
                None => match self.seeds.candidates.pop() {
                    Some(seed) => (false, seed),
                    None => break,
                },
            };
            let before = heap.statistics.trial_edges;
            let more = self.try_at(heap, report, candidate, Turn::Brought, unbounded);
            let source = if orphan { &mut self.orphans } else { &mut self.seeds };
            source.sample.learn(more, heap.statistics.trial_edges - before);
            freed += more;
        }
        freed
    }

    /// Candidates that wait for a budget.
    pub(crate) fn waiting(&self) -> usize {
        let waiting: usize = self.waiting.iter().map(|queue| queue.len()).sum();
        waiting + self.orphans.candidates.len() + self.seeds.candidates.len()
    }

    /// Whether many candidates came at once, and rounds have not tried all of them yet: a mark would come too soon.
    pub(crate) fn catches_up(&self) -> bool {
        self.catches_up && self.left_over() != 0
    }

    /// Candidates that the last round has left for the next.
    pub(crate) fn left_over(&self) -> usize {
        self.backlog.len() - self.backlog_at
    }
}

/// Only a mark can tell: until then the object stays settled and flagged, so that it is no candidate again.
fn give_up(heap: &mut Heap, candidate: ObjectRef) {
    BUFFERED.clear(candidate.granule());
    heap.suspects += 1;
}

/// Stuck, at zero, or large: its count, or the trial, says nothing about it.
fn may_not_be_judged(object: ObjectRef) -> bool {
    object.exact_count() == 0 || object.is_stuck() || object.has(prompt_flag::LARGE | prompt_flag::PENDING)
}
