//! Dead young objects of the deferred plan that are special. `[WEAK]`
//!
//! Dead young objects are never touched under that plan, so those that are special stand on a list. When the increments of a
//! flip are done, whoever is on it and not mature is dead: the cost is that of the young special objects and of their weak slots,
//! not of the young. They are one set: all weak references to them are cleared before the first finalizer among them is
//! queued, and their memory goes after all of that, with their block's sweep. No upgrade yields them meanwhile
//! ([`Specials::young_are_judged`](crate::services::special::Specials::young_are_judged)), so each step may end anywhere. `[BOUND]`

use crate::heap::Heap;
use crate::object::{ObjectRef, flag};

/// Units of a look at an object on the list.
const LOOK_UNITS: i64 = 4;

/// How far the young special objects of the last flip are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The increments are not done.
    #[default]
    Waits,
    /// They are marked as one set, from this place on.
    Condemn(usize),
    /// Weak references to them are cleared.
    Begin(usize),
    /// Those with finalizers are held until these have run.
    Finalize,
    /// What is still dead lets go of its keys.
    Dismantle(usize),
    /// And goes.
    End(usize),
}

impl Judgement {
    /// The object to look at next, for a step that looks at all of them.
    fn place(self) -> usize {
        match self {
            Judgement::Waits | Judgement::Finalize => 0,
            Judgement::Condemn(at) | Judgement::Begin(at) | Judgement::Dismantle(at) | Judgement::End(at) => at,
        }
    }

    /// The same step with the next object.
    fn at_next(self) -> Judgement {
        match self {
            Judgement::Waits | Judgement::Finalize => self,
            Judgement::Condemn(at) => Judgement::Condemn(at + 1),
            Judgement::Begin(at) => Judgement::Begin(at + 1),
            Judgement::Dismantle(at) => Judgement::Dismantle(at + 1),
            Judgement::End(at) => Judgement::End(at + 1),
        }
    }

    /// The next step; `None` after the last.
    fn next_step(self) -> Option<Judgement> {
        match self {
            Judgement::Waits => Some(Judgement::Condemn(0)),
            Judgement::Condemn(_) => Some(Judgement::Begin(0)),
            Judgement::Begin(_) => Some(Judgement::Finalize),
            Judgement::Finalize => Some(Judgement::Dismantle(0)),
            Judgement::Dismantle(_) => Some(Judgement::End(0)),
            Judgement::End(_) => None,
        }
    }
}

impl Heap {
    /// A young object becomes special.
    pub(crate) fn list_young_special(&mut self, object: ObjectRef) {
        if object.is_mature() {
            return;
        }
        match object.stamp() == self.epoch {
            true => self.specials.young.push(object),
            false => self.specials.pending.push(object),
        }
    }

    /// Deferred plan, when the increments of the flip are done: what became special while young and is not mature is
    /// dead. Does up to `units` of work; what is left, and whether all is done. If it has queued objects for promotion,
    /// it is to be called again when those are promoted.
    pub fn judge_young_special(&mut self, mut units: i64) -> (i64, bool) {
        if self.specials.judgement == Judgement::Waits {
            self.specials.judgement = Judgement::Condemn(0);
        }
        while units > 0 {
            let judgement = self.specials.judgement;
            if judgement == Judgement::Finalize {
                let (left, done) = self.judge_young_finalizable(units);
                if done {
                    self.specials.judgement = Judgement::Dismantle(0);
                }
                if !done || !self.promotion_queue.is_empty() {
                    return (left, false);
                }
                units = left;
                continue;
            }
            let Some(&object) = self.specials.pending.get(judgement.place()) else {
                match judgement.next_step() {
                    Some(next) => self.specials.judgement = next,
                    None => {
                        self.specials.pending.clear();
                        return (units, true);
                    }
                }
                continue;
            };
            units -= LOOK_UNITS;
            let dead = !object.is_mature() && object.has(flag::SPECIAL);
            if self.take_step_of_young(judgement, object, dead, &mut units) {
                self.specials.judgement = judgement.at_next();
            }
        }
        (units, false)
    }

    /// Whether the step is done with the object: else it goes on with it.
    fn take_step_of_young(&mut self, step: Judgement, object: ObjectRef, dead: bool, units: &mut i64) -> bool {
        match step {
            Judgement::Waits | Judgement::Finalize => unreachable!("has no places"),
            Judgement::Condemn(_) if dead => self.condemn_special(object, true),
            Judgement::Begin(_) if dead => {
                self.specials.finalizers_follow = self.finalizers.has_young();
                let done = self.begin_reclaim_some(object, units);
                self.specials.finalizers_follow = false;
                return done;
            }
            Judgement::Dismantle(_) if dead => return self.dismantle_some(object, units),
            Judgement::Dismantle(_) => self.condemn_special(object, false),
            // All that are dead have been dismantled: an ephemeron that loses a key here is alive.
            Judgement::End(_) if dead => match self.end_key_some(object, units) {
                true => self.end_special(object),
                false => return false,
            },
            Judgement::Condemn(_) | Judgement::Begin(_) | Judgement::End(_) => {}
        }
        true
    }
}
