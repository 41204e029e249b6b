//! The flip, and the passes after it in units; after `cycle-detector/src/{epoch,flip,reconcile,release}.rs`. `[ORDER]`
//!
//! Where the real pass goes by address or age of entries, any unit may be next. The order of the kinds of work within
//! a phase is the real one's.

use super::invariant::{Outcome, broken};
use super::{Action, Entry, Model, NULL, Name, Phase, Queue, Read, Rule, Stage, Stamp, State, flag};

impl Model {
    /// The names for which `holds`.
    pub(super) fn all_that(
        &self,
        state: &State,
        holds: impl Fn(&super::Object) -> bool,
        action: impl Fn(Name) -> Action,
        actions: &mut Vec<Action>,
    ) -> bool {
        let before = actions.len();
        actions.extend(self.names().filter(|&name| holds(state.at(name))).map(action));
        actions.len() > before
    }

    /// Every unit of work that the phase can do next; the action to the next phase when there is none.
    pub(super) fn phase_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.phase {
            Phase::Idle => {}
            Phase::Count => {
                let has_work = self.all_that(state, |object| object.has(flag::TO_PROMOTE), Action::Promote, actions)
                    || self.all_that(state, |object| object.last.read == Read::Unread, Action::Reconcile, actions);
                if !has_work {
                    actions.push(Action::NextPhase);
                }
                if !self.keeps(Rule::SweepAfterIncrements) {
                    self.all_that(state, is_young_and_dead, Action::Sweep, actions);
                }
                if !self.keeps(Rule::IncrementsFirst) {
                    self.releases(state, actions);
                }
            }
            Phase::Sweep => {
                if !self.all_that(state, is_young_and_dead, Action::Sweep, actions) {
                    actions.push(Action::NextPhase);
                }
            }
            Phase::Release => {
                if !self.releases(state, actions) {
                    actions.push(Action::NextPhase);
                }
            }
            Phase::Try => {
                if !self.tries(state, actions) {
                    actions.push(Action::NextPhase);
                }
            }
        }
    }

    fn releases(&self, state: &State, actions: &mut Vec<Action>) -> bool {
        self.all_that(state, |object| object.queue == Queue::LastLate, Action::FreeLate, actions)
            || self.all_that(state, |object| object.last_roots > 0, Action::ReleaseRoot, actions)
            || self.all_that(state, |object| object.last.read == Read::Once, Action::ReleaseEntry, actions)
    }

    pub(super) fn may_flip(&self, state: &State) -> bool {
        let too_early = matches!(state.phase, Phase::Release | Phase::Try) && !self.keeps(Rule::FlipWaitsForPasses);
        state.phase == Phase::Idle || too_early
    }

    pub(super) fn flip(&self, state: &mut State) -> Outcome {
        for name in self.names() {
            let arms = self.keeps(Rule::FlipArmsBarriers);
            let object = state.of(name);
            if object.stamp == Stamp::Last {
                return broken("PENDING", name, "is pending since the flip before this one");
            }
            if object.stamp == Stamp::Running {
                object.stamp = Stamp::Last;
            }
            let was_logged = object.running.read != Read::Absent;
            let was_young = object.has(flag::USED) && !object.has(flag::MATURE);
            if was_young || was_logged && arms {
                object.flags |= flag::UNLOGGED;
            }
            object.last = std::mem::take(&mut object.running);
            if was_logged {
                object.last.read = Read::Unread;
            }
            if object.queue == Queue::Late {
                object.queue = Queue::LastLate;
            }
            object.last_roots = std::mem::take(&mut object.roots);
        }
        if self.keeps(Rule::RootsAreCounted) {
            for name in self.names() {
                let held = state.at(name).held;
                (0..held).try_for_each(|_| self.increment(state, name))?;
                state.of(name).roots = held;
            }
        }
        state.phase = Phase::Count;
        Ok(())
    }

    pub(super) fn promote_queued(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        object.flags &= !flag::TO_PROMOTE;
        if object.has(flag::MATURE) && self.keeps(Rule::YoungMeansNotMature) {
            return Ok(()); // its first writer was here before
        }
        self.promote(state, name);
        self.count_references(state, name)
    }

    pub(super) fn reconcile(&self, state: &mut State, name: Name) -> Outcome {
        let Entry { mut words, .. } = state.at(name).last;
        if state.stage == Stage::Discover && self.may_follow(state, name) && self.keeps(Rule::MarkIsShownLastLog) {
            self.show_all(state, words)?;
        }
        let is_pending = state.at(name).stamp == Stamp::Last;
        if is_pending {
            state.of(name).stamp = Stamp::Clean;
        }
        let counts_now = is_pending || !self.keeps(Rule::CountedOnce);
        let cancels = counts_now || !self.keeps(Rule::OldWordsOfCountedStay);
        for (before, now) in words.iter_mut().zip(state.at(name).words) {
            if cancels && now == *before {
                *before = NULL;
            } else if counts_now && now != NULL {
                self.increment(state, now)?;
            }
        }
        let read = if words.iter().all(|&word| word == NULL) { Read::Absent } else { Read::Once };
        state.of(name).last = Entry { read, words };
        Ok(())
    }

    pub(super) fn release_root(&self, state: &mut State, name: Name) -> Outcome {
        state.of(name).last_roots -= 1;
        self.decrement(state, name)
    }

    pub(super) fn release_entry(&self, state: &mut State, name: Name) -> Outcome {
        let entry = std::mem::take(&mut state.of(name).last);
        let mut old = entry.words.into_iter().filter(|&word| word != NULL);
        old.try_for_each(|word| self.decrement(state, word))
    }

    /// Releases the references of a dead object.
    pub(super) fn release_dead(&self, state: &mut State, name: Name) -> Outcome {
        state.of(name).queue = Queue::None;
        for target in state.at(name).targets() {
            if state.stage == Stage::Discover && self.keeps(Rule::DeathsAreShown) {
                self.show(state, target)?;
            }
            self.decrement(state, target)?;
        }
        self.reclaim(state, name)
    }

    pub(super) fn enter_next_phase(state: &mut State) {
        state.phase = match state.phase {
            Phase::Idle | Phase::Try => Phase::Idle,
            Phase::Count => Phase::Sweep,
            Phase::Sweep => Phase::Release,
            Phase::Release => Phase::Try,
        };
    }
}

fn is_young_and_dead(object: &super::Object) -> bool {
    object.has(flag::USED) && !object.has(flag::MATURE) && object.stamp == Stamp::Last
}
