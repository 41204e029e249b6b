//! Ephemerons under the deferred plan: what the log and a running mark have to do with them. `[LOG]` `[WEAK]`

use crate::heap::Heap;
use crate::memory::range::MARK;
use crate::object::{ObjectRef, Slot, flag};
use crate::visit::Part;

impl Heap {
    /// An ephemeron that the mark has come to, and held back, has another key: the mark looks again.
    pub(crate) fn show_ephemeron_again(&mut self, ephemeron: ObjectRef) {
        if self.mark_phase().is_shown_references() && MARK.get(ephemeron.granule()) && !ephemeron.is_known_dead() {
            self.push_marked(ephemeron);
        }
    }

    /// An ephemeron that was logged since the mark's end, with its block, has its values in the log, which releases them when the
    /// mark may have freed them: it keeps them, and they are shown to the mark, which goes on. True if any was. `[LOG]`
    pub(crate) fn keeps_logged_values(&mut self, ephemeron: ObjectRef, spent: &mut i64) -> bool {
        if ephemeron.stamp() == 0 {
            return false;
        }
        let before = self.mark_stack.len();
        ephemeron.type_info().for_each_reference(ephemeron, Part::Whole, |value| {
            *spent += 1;
            if self.is_unmarked(value) {
                self.show_to_mark(value);
            }
        });
        self.mark_stack.len() != before || self.deferred.mark_overflowed
    }

    /// Nulls a reference; not by way of the log: the ephemeron may have died at the last flip, and marks
    /// do not follow what the log says of such. The count that a clean object's reference had goes at once: the key was
    /// unreachable at the flip and its slot has not been upgraded since, so the program has not read the value since
    /// either, and chains of ephemerons die in one epoch. (It went to the flip's roots: a chain lost one link in an
    /// epoch, and marks found the next alive.) Only while increments are pending it waits there, and goes after the next flip.
    ///
    /// An ephemeron that the log names gives that the reference: it releases it by a write. Once it is dead, no mark follows what the
    /// log says of it, and it may die as late as in this epoch: it held its key by way of others, say. So its value is held until the log
    /// has been read. (Marks condemned it before, and the log then released a freed object.)
    pub(crate) fn empty_slot_past_the_log(&mut self, ephemeron: ObjectRef, slot: Slot) {
        let value = ephemeron.type_info().target_of(ephemeron, slot);
        let clean = ephemeron.is_mature() && ephemeron.stamp() == 0;
        if !clean {
            let was_counted = |value: &ObjectRef| value.is_mature() && value.count() != 0;
            if ephemeron.is_mature()
                && let Some(value) = value.filter(was_counted)
            {
                self.hold_until_flip(value);
            }
            return self.write(ephemeron, slot, 0);
        }
        slot.store(0);
        let Some(value) = value else { return };
        if self.mark_phase().is_shown_references() {
            self.show_to_mark(value);
        }
        if !self.deferred.counting {
            return self.decrement(value);
        }
        value.add_flags(flag::ROOTED);
        self.services.specials.upgraded.push(value);
    }
}
