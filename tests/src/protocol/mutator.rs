//! The operations of the mutator: allocate into a root, load a field into a root, write a field, clear a root; and
//! the write barrier, after `rc-runtime/src/plan/deferred/barrier.rs`. `[LOG]` `[PENDING]`
//!
//! A root that is assigned to loses its object, `over`. Roots are slots without names: only the number of roots that
//! hold an object counts.

use super::invariant::{Outcome, broken};
use super::{Action, Entry, Model, NULL, Name, Phase, Read, Rule, Stage, Stamp, State, flag};

impl Model {
    pub(super) fn names(&self) -> impl Iterator<Item = Name> + use<> {
        0..self.objects as Name
    }

    /// Every operation that the mutator can do.
    pub(super) fn operations(&self, state: &State, actions: &mut Vec<Action>) {
        if state.operations == 0 {
            return;
        }
        let held: Vec<Name> = self.names().filter(|&name| state.at(name).held > 0).collect();
        let in_use: u8 = held.iter().map(|&name| state.at(name).held).sum();
        let mut over = held.clone();
        over.extend((in_use < self.roots).then_some(NULL));
        let free: Vec<Name> = self.names().filter(|&name| !state.at(name).has(flag::USED)).collect();
        for (place, &object) in free.iter().enumerate() {
            // Free cells differ in the remains of the object before.
            if !free[..place].iter().any(|&earlier| state.at(earlier) == state.at(object)) {
                actions.extend(over.iter().map(|&over| Action::Allocate { object, over }));
            }
        }
        for &object in &held {
            actions.push(Action::Clear { over: object });
            for field in 0..self.fields as u8 {
                let target = state.at(object).words[usize::from(field)];
                if target != NULL {
                    let over = over.iter().filter(|&&over| over != target);
                    actions.extend(over.map(|&over| Action::Load { object, field, over }));
                    actions.push(Action::Write { object, field, value: NULL });
                }
                actions.extend(held.iter().map(|&value| Action::Write { object, field, value }));
            }
        }
    }

    pub(super) fn operate(&self, state: &mut State, action: Action) -> Outcome {
        if state.operations != u8::MAX {
            state.operations -= 1;
        }
        match action {
            Action::Allocate { object, over } => {
                let cell = state.of(object);
                cell.flags = cell.flags & flag::MARKED | flag::USED;
                cell.stamp = Stamp::Running;
                assign(state, over, object);
            }
            Action::Load { object, field, over } => {
                let target = state.at(object).words[usize::from(field)];
                assign(state, over, target);
            }
            Action::Clear { over } => assign(state, over, NULL),
            Action::Write { object, field, value } => return self.write(state, object, field, value),
            _ => unreachable!("{action:?} is no operation of the mutator"),
        }
        Ok(())
    }

    fn write(&self, state: &mut State, object: Name, field: u8, value: Name) -> Outcome {
        let field = usize::from(field);
        if !self.keeps(Rule::OldWordsAreLogged) {
            state.of(object).words[field] = value;
        }
        if state.at(object).has(flag::UNLOGGED) {
            self.log(state, object)?;
            if self.whole_blocks {
                self.log_block(state, state.at(object).block)?;
            }
        }
        state.of(object).words[field] = value;
        Ok(())
    }

    fn log(&self, state: &mut State, name: Name) -> Outcome {
        let is_pending = state.phase == Phase::Count && state.at(name).stamp == Stamp::Last;
        if is_pending && self.keeps(Rule::PendingIsCountedFirst) {
            self.count_pending(state, name)?;
        }
        let object = state.of(name);
        if object.running.read != Read::Absent {
            return broken("LOG", name, "is logged twice in one epoch");
        }
        object.running = Entry { read: Read::Unread, words: object.words };
        object.stamp = Stamp::Running;
        object.flags &= !flag::UNLOGGED;
        Ok(())
    }

    fn count_pending(&self, state: &mut State, name: Name) -> Outcome {
        if state.at(name).has(flag::MATURE) {
            state.of(name).stamp = Stamp::Clean;
        } else {
            self.promote(state, name);
        }
        self.count_references(state, name)
    }

    fn log_block(&self, state: &mut State, block: u8) -> Outcome {
        for name in self.names() {
            let object = state.at(name);
            let is_dead = object.count == 0 && self.keeps(Rule::BlockLogSparesTheDead)
                || object.has(flag::DEAD) && self.keeps(Rule::BlockLogSparesCondemned);
            let is_unreached =
                state.stage == Stage::Release && !object.has(flag::MARKED) && self.keeps(Rule::BlockLogSparesUnreached);
            let is_clean = object.has(flag::MATURE) && object.has(flag::UNLOGGED);
            if object.block == block && is_clean && !is_dead && !is_unreached {
                self.log(state, name)?;
            }
        }
        Ok(())
    }
}

fn assign(state: &mut State, over: Name, value: Name) {
    if over != NULL {
        state.of(over).held -= 1;
    }
    if value != NULL {
        state.of(value).held += 1;
    }
}
