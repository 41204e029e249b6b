//! Counts, promotion, and the end of an object; after `rc-runtime/src/plan/deferred/count.rs`. `[COUNT]` `[RECLAIM]`

use super::invariant::{Outcome, broken};
use super::{Model, Name, Object, Queue, Read, Rule, Stage, Stamp, State, flag};

impl State {
    pub(super) fn of(&mut self, name: Name) -> &mut Object {
        &mut self.objects[usize::from(name)]
    }

    pub(super) fn at(&self, name: Name) -> &Object {
        &self.objects[usize::from(name)]
    }

    pub(super) fn is_marking(&self) -> bool {
        matches!(self.stage, Stage::Discover | Stage::Release)
    }
}

impl Model {
    pub(super) fn increment(&self, state: &mut State, name: Name) -> Outcome {
        let stuck = self.stuck;
        let object = state.of(name);
        if !object.has(flag::USED) {
            return broken("HEADER", name, "is counted, and its cell is free");
        }
        if object.count == 0 && (!object.has(flag::MATURE) || !self.keeps(Rule::YoungMeansNotMature)) {
            object.flags |= flag::TO_PROMOTE;
        }
        object.count = (object.count + 1).min(stuck);
        Ok(())
    }

    /// Decrements; an object that is not at zero then becomes a candidate.
    pub(super) fn decrement(&self, state: &mut State, name: Name) -> Outcome {
        if self.decrement_only(state, name)? {
            let object = state.of(name);
            if !object.has(flag::BUFFERED) || !self.keeps(Rule::CandidateOnce) {
                object.flags |= flag::BUFFERED;
                object.buffered += 1;
            }
        }
        Ok(())
    }

    /// Decrements; returns whether the object is still counted. At zero it is queued.
    pub(super) fn decrement_only(&self, state: &mut State, name: Name) -> Result<bool, super::Violation> {
        let object = state.of(name);
        if !object.has(flag::USED) {
            return broken("HEADER", name, "loses a count, and its cell is free").map(|()| false);
        }
        if object.count == self.stuck && self.keeps(Rule::FullCountsStay) {
            return Ok(false);
        }
        if object.count == 0 {
            return broken("COUNT", name, "would have a count below zero").map(|()| false);
        }
        object.count -= 1;
        if object.count > 0 {
            return Ok(true);
        }
        if !object.has(flag::DEAD) {
            if object.queue != Queue::None {
                return broken("RECLAIM", name, "dies, and is already in a queue of the dead").map(|()| false);
            }
            object.queue = Queue::Release;
        }
        Ok(false)
    }

    /// Makes the young object mature and clean; its references are not counted here.
    pub(super) fn promote(&self, state: &mut State, name: Name) {
        let marked = if state.is_marking() && self.keeps(Rule::PromotedIsMarked) { flag::MARKED } else { 0 };
        let object = state.of(name);
        object.flags |= flag::MATURE | marked;
        object.stamp = Stamp::Clean;
    }

    pub(super) fn count_references(&self, state: &mut State, name: Name) -> Outcome {
        let targets = state.at(name).targets();
        targets.into_iter().try_for_each(|target| self.increment(state, target))
    }

    /// Marks the object dead, after its references were released.
    pub(super) fn reclaim(&self, state: &mut State, name: Name) -> Outcome {
        if state.is_marking() && self.keeps(Rule::DeadStayWhileMarking) {
            let object = state.of(name);
            if object.queue != Queue::None {
                return broken("RECLAIM", name, "is reclaimed, and is already in a queue of the dead");
            }
            object.flags |= flag::DEAD;
            object.queue = Queue::Mark;
            return Ok(());
        }
        self.free(state, name)
    }

    /// Gives the memory back, unless a log names the object.
    pub(super) fn free(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        if object.stamp != Stamp::Clean && self.keeps(Rule::LateQueue) {
            object.queue = Queue::Late;
            return Ok(());
        }
        self.give_back(state, name)
    }

    /// Frees the cell, which may be allocated at once.
    pub(super) fn give_back(&self, state: &mut State, name: Name) -> Outcome {
        let object = state.of(name);
        if !object.has(flag::USED) {
            return broken("RECLAIM", name, "is freed twice");
        }
        if object.running.read != Read::Absent || object.last.read == Read::Unread {
            return broken("RECLAIM", name, "is freed, and a log will be read that names it");
        }
        if object.has(flag::TO_VISIT) {
            return broken("RECLAIM", name, "is freed, and the mark will visit it");
        }
        if object.has(flag::TO_PROMOTE) {
            return broken("RECLAIM", name, "is freed, and is queued for promotion");
        }
        if object.roots + object.last_roots > 0 {
            return broken("RECLAIM", name, "is freed, and was counted for a root that will be released");
        }
        // The buffer keeps the address; the entry is stale. So does the last log if only words are left to release.
        *object = Object {
            flags: object.flags & flag::MARKED,
            block: object.block,
            held: object.held,
            buffered: object.buffered,
            stale: object.buffered,
            last: object.last,
            ..Object::default()
        };
        Ok(())
    }
}
