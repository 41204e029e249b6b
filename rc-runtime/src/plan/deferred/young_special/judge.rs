//! Dead young special objects end, in steps. `[WEAK]`

use super::{AHEAD, Judgement, LOOK_UNITS};
use crate::heap::Heap;
use crate::object::{ObjectRef, flag};
use crate::services::builtin;

impl Heap {
    /// A young object becomes special.
    pub(crate) fn list_young_special(&mut self, object: ObjectRef) {
        debug_assert!(!object.is_mature());
        match object.stamp() == self.clock.epoch {
            true => self.services.specials.young.push(object),
            false => self.services.specials.pending.push(object),
        }
    }

    /// Deferred plan, when the increments of the flip are done: what became special while young and is not mature is
    /// dead. Does up to `units` of work; returns the units left, and whether all is done. If it has queued objects for promotion,
    /// it is to be called again when those are promoted.
    pub fn judge_young_special(&mut self, mut units: i64) -> (i64, bool) {
        if self.services.specials.judgement == Judgement::Waits {
            let asked = self.services.specials.any_told_when_cleared;
            self.services.specials.judgement = if asked { Judgement::Condemn(0) } else { Judgement::Begin(0) };
        }
        while units > 0 {
            let judgement = self.services.specials.judgement;
            if judgement == Judgement::Finalize {
                let (left, done) = self.judge_young_finalizable(units);
                if done {
                    self.services.specials.judgement = Judgement::Dismantle(0);
                }
                if !done || !self.deferred.promotion_queue.is_empty() {
                    return (left, false);
                }
                units = left;
                continue;
            }
            let Some(&object) = self.services.specials.pending.get(judgement.place()) else {
                match judgement.next_step() {
                    Some(next) => self.services.specials.judgement = next,
                    None => {
                        self.services.specials.pending.clear();
                        return (units, true);
                    }
                }
                continue;
            };
            units -= LOOK_UNITS;
            self.prefetch_pending(judgement.place());
            let dead = !object.is_mature() && object.has(flag::SPECIAL);
            if self.take_step_of_young(judgement, object, dead, &mut units) {
                self.services.specials.judgement = judgement.at_next();
            }
        }
        (units, false)
    }

    /// Fetches what the looks at the next objects of the list need.
    #[inline(always)]
    fn prefetch_pending(&self, at: usize) {
        let pending = &self.services.specials.pending;
        if let Some(&far) = pending.get(at + 2 * AHEAD) {
            self.prefetch_number(far);
        }
        if let Some(&near) = pending.get(at + AHEAD) {
            self.prefetch_first_slot(near);
        }
    }

    /// It is not condemned any more, if it was, and plain if nothing else needs its record.
    fn absolve(&mut self, object: ObjectRef) {
        match self.services.specials.any_told_when_cleared {
            true => self.condemn_special(object, false),
            false => self.tidy_special(object),
        }
    }

    /// Whether the step is done with the object: else it goes on with it.
    pub(in crate::plan::deferred::young_special) fn take_step_of_young(
        &mut self,
        step: Judgement,
        object: ObjectRef,
        dead: bool,
        units: &mut i64,
    ) -> bool {
        match step {
            Judgement::Waits | Judgement::Finalize => unreachable!("has no places"),
            Judgement::Condemn(_) if dead => self.condemn_special(object, true),
            Judgement::Begin(_) if dead => {
                self.services.specials.finalizers_follow = self.services.finalizers.has_young();
                let done = self.begin_reclaim_some(object, units);
                self.services.specials.finalizers_follow = false;
                if done && !self.services.finalizers.has_young() && !builtin::is_told_when_cleared(object) {
                    // Nothing asks whether it was condemned. Most have nothing else that is to end, and are plain from here on.
                    self.absolve(object);
                }
                return done;
            }
            Judgement::Dismantle(_) if dead => return self.dismantle_some(object, units),
            Judgement::Dismantle(_) if self.services.specials.any_told_when_cleared => {
                self.condemn_special(object, false)
            }
            // All that are dead have been dismantled: an ephemeron that loses a key here is alive.
            Judgement::End(_) if dead => match self.end_key_some(object, units) {
                true => self.end_special(object),
                false => return false,
            },
            Judgement::Condemn(_) | Judgement::Begin(_) | Judgement::Dismantle(_) | Judgement::End(_) => {}
        }
        true
    }
}
