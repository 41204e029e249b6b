//! The backup mark, a unit at a time; after `cycle-detector/src/plan/deferred/mark.rs`.

use super::invariant::{Outcome, broken};
use super::{Action, Model, NULL, Name, Object, Phase, Queue, Read, Rule, Stage, State, Words, flag};

impl Model {
    /// Every unit of work that the mark can do next.
    pub(super) fn mark_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let is_between_passes = matches!(state.phase, Phase::Idle | Phase::Try);
        let has_deaths = state.objects.iter().any(|object| object.queue == Queue::Release);
        match state.stage {
            Stage::Off => {}
            Stage::Discover => {
                let has_work = self.all_that(state, |object| object.has(flag::TO_VISIT), Action::Visit, actions)
                    || self.keeps(Rule::MarkReadsRunningLog)
                        && self.all_that(state, |object| object.running.read == Read::Unread, Action::ReadLog, actions);
                if !has_work && (is_between_passes || !self.keeps(Rule::DiscoveryEndsBetweenPasses)) {
                    actions.push(Action::EndDiscovery);
                }
            }
            Stage::Release => {
                if has_deaths && self.keeps(Rule::MarkWaitsForDeaths) {
                    return;
                }
                if !self.all_that(state, |object| self.is_unmarked(object), Action::Condemn, actions) {
                    actions.push(Action::EndRelease);
                }
            }
            Stage::Free => {
                if !self.all_that(state, |object| object.queue == Queue::Mark, Action::FreeDead, actions) {
                    actions.push(Action::EndMark);
                }
            }
        }
    }

    pub(super) fn may_start_mark(&self, state: &State) -> bool {
        let is_between_passes = matches!(state.phase, Phase::Idle | Phase::Try);
        self.marks && state.stage == Stage::Off && (is_between_passes || !self.keeps(Rule::MarkBeginsBetweenPasses))
    }

    /// Starts a mark: the bits are clear, and the objects of the last flip's roots are reached.
    pub(super) fn start_mark(&self, state: &mut State) -> Outcome {
        state.stage = Stage::Discover;
        let mut roots = self.names().filter(|&name| state.at(name).roots > 0).collect::<Vec<_>>().into_iter();
        roots.try_for_each(|name| self.show(state, name))
    }

    /// Shows the mark a reference that existed in its snapshot.
    pub(super) fn show(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        if !object.has(flag::USED) {
            return broken("HEADER", name, "is shown to the mark, and its cell is free");
        }
        if (object.count != 0 || !self.keeps(Rule::UncountedIsNotShown)) && !object.has(flag::MARKED) {
            object.flags |= flag::MARKED | flag::TO_VISIT;
        }
        Ok(())
    }

    pub(super) fn show_all(&self, state: &mut State, words: Words) -> Outcome {
        words.into_iter().filter(|&word| word != NULL).try_for_each(|word| self.show(state, word))
    }

    /// Whether the object's log entries may be followed.
    pub(super) fn may_follow(&self, state: &State, name: Name) -> bool {
        let object = state.at(name);
        object.count != 0 && !object.has(flag::DEAD) || !self.keeps(Rule::DeadEntriesAreNotFollowed)
    }

    pub(super) fn visit(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        object.flags &= !flag::TO_VISIT;
        let words = object.words;
        self.show_all(state, words)
    }

    pub(super) fn read_log(&self, state: &mut State, name: Name) -> Outcome {
        state.of(name).running.read = Read::Once;
        let words = state.at(name).running.words;
        if self.may_follow(state, name) { self.show_all(state, words) } else { Ok(()) }
    }

    fn is_unmarked(&self, object: &Object) -> bool {
        let is_released = object.count == 0 && self.keeps(Rule::ReleasedIsNotCondemned);
        object.has(flag::MATURE) && !object.has(flag::MARKED | flag::DEAD) && !is_released
    }

    /// Condemns the object; reached objects lose the references that it held.
    pub(super) fn condemn(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        if object.queue != Queue::None {
            return broken("RECLAIM", name, "is condemned, and is already in a queue of the dead");
        }
        object.flags |= flag::DEAD;
        object.queue = Queue::Mark;
        for target in state.at(name).targets() {
            if state.at(target).has(flag::MARKED) || !self.keeps(Rule::CondemnedLoseNothing) {
                self.decrement(state, target)?;
            }
        }
        Ok(())
    }

    pub(super) fn free_dead(&self, state: &mut State, name: Name) -> Outcome {
        state.of(name).queue = Queue::None;
        self.free(state, name)
    }

    /// Enters a stage. Data of the last one alone are cleared, so that they do not distinguish states.
    pub(super) fn enter_stage(state: &mut State, stage: Stage) {
        state.stage = stage;
        for object in &mut state.objects {
            if object.running.read == Read::Once {
                object.running.read = Read::Unread;
            }
            if stage == Stage::Free {
                object.flags &= !(flag::MARKED | flag::TO_VISIT);
            }
        }
    }
}
