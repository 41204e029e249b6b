//! Upgrades of weak slots under the deferred plan. `[WEAK]`
//!
//! The target may have been unreachable at the last flip, while the passes over that are still running: it is counted once more
//! and entered with the flip's roots, so that it survives what they will find, as if a root had held it
//! ([`Specials::upgraded`](crate::services::special::Specials)).

use crate::heap::Heap;
use crate::memory::range::MARK;
use crate::object::{ObjectRef, flag};
use crate::services::special::AWAITS_FINALIZER;

impl Heap {
    /// True from a flip until its roots are counted: flags say what roots held at the flip before.
    pub fn roots_are_uncounted(&self) -> bool {
        self.deferred.roots_uncounted
    }

    /// Says whether that is so now.
    pub fn set_roots_uncounted(&mut self, uncounted: bool) {
        self.deferred.roots_uncounted = uncounted;
        self.note_what_yields();
    }

    /// The object was held by a root of the last flip.
    pub(crate) fn is_rooted(&self, object: ObjectRef) -> bool {
        object.has(flag::ROOTED) && !self.deferred.roots_uncounted
    }

    /// The object is younger than the last flip.
    #[inline(always)]
    pub(crate) fn is_younger_than_flip(&self, object: ObjectRef) -> bool {
        object.stamp() == self.clock.epoch && !object.is_mature()
    }

    #[inline(never)]
    pub(crate) fn upgrade_slow(&mut self, object: ObjectRef) -> Option<ObjectRef> {
        // Such an object is a key: the other weak slots are null by now. Yielded, it would be finalized under the
        // program's hands.
        if self.special_of(object).is_some_and(|record| record.has(AWAITS_FINALIZER)) {
            return None;
        }
        let dead = if object.is_mature() {
            let condemned = self.mark_phase().condemns() && !MARK.get(object.granule());
            object.has(flag::DEAD) || condemned || object.count() == 0 && !self.is_written_uncounted(object)
        } else {
            !self.deferred.counting || self.services.specials.young_are_judged()
        };
        if dead {
            return None;
        }
        self.hold_until_flip(object);
        Some(object)
    }

    /// The object is counted once more, and held as by a root of the last flip, until the passes of the next.
    pub(crate) fn hold_until_flip(&mut self, object: ObjectRef) {
        self.increment(object);
        object.add_flags(flag::ROOTED);
        self.services.specials.upgraded.push(object);
        if self.mark_phase().is_shown_references() {
            self.show_to_mark(object);
        }
    }

    /// Whether the object was promoted because it was written to before the increments reached it: it has no count yet,
    /// and lives. An object that died by counting has none any more, and was not written to since the flip.
    #[cold]
    fn is_written_uncounted(&mut self, object: ObjectRef) -> bool {
        let epoch = self.clock.epoch;
        let written = match object.has(flag::LARGE) {
            true => self.large.stamps(object).contains(&epoch),
            false => object.stamp() == epoch,
        };
        self.deferred.counting && written
    }

    /// A mature object has a count, and neither counting nor a mark has found it dead.
    #[inline(always)]
    pub(crate) fn is_there_by_count(&self, object: ObjectRef) -> bool {
        let condemned = self.mark_phase().condemns() && !MARK.get(object.granule());
        object.count() != 0 && !object.has(flag::DEAD) && !condemned
    }
}
