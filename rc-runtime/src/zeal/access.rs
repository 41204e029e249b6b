//! Is this address one that the program may touch? Asked before each access of compiled code.

use super::{Birth, Language, Site, Zeal};
use crate::at_work::AT_WORK;
use crate::fatal::{STATUS_VIOLATION, stop};
use crate::heap::Heap;
use crate::memory::range;
use crate::services::alloc_site::text_of_site;
use crate::type_registry::TypeInfo;

/// The advice for an object of another heap.
pub const FOREIGN: &str = "which is not an object of this thread's heap but of another thread's, which may have ended: \
                           each thread has a heap of its own, and references do not pass from one to another; \
                           pass copies of the data";

impl Heap {
    /// Compiled code is at a safepoint, or about to call what may be one. A function that the collector has called has no place of its
    /// own: what it interrupts goes on at the place before.
    pub fn note_place(&mut self, site: &Site) {
        if self.stopped & AT_WORK == 0
            && let Some(zeal) = &mut self.zeal
        {
            zeal.here = zeal.places.number(site.place());
        }
    }

    /// Stops the program if `address` lies in a dead object or in the heap of another thread. `site` is about to touch it.
    pub fn check_access(&self, address: u64, site: &Site) {
        let Some(zeal) = &self.zeal else { return };
        if !range::in_heap(address) {
            return;
        }
        // Of a large object's blocks only the first says whose it is.
        let site_of = |birth: Birth| self.callers_of_birth(birth);
        let is_an_objects = zeal.check_alive(address, site, self.clock.epoch, &site_of);
        // SAFETY: [MAPPED] an address in the reserved range.
        if !(is_an_objects || range::is_reserved(address) && unsafe { self.owns_address(address) }) {
            stop(STATUS_VIOLATION, &format!("{}: use of {}", site.place(), self.place(zeal, address)));
        }
    }

    /// The object's allocation site as a line of a message, where sites are recorded.
    #[cold]
    fn callers_of_birth(&self, birth: Birth) -> String {
        let site = self.site_of_number(birth.site);
        site.map_or_else(String::new, |site| format!("\n    allocated {}", text_of_site(&site)))
    }

    /// An array was asked for of a type that has no elements.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse_length(&self, info: &TypeInfo, length: u64) {
        let Some(zeal) = &self.zeal else { return };
        let place = zeal.places.get(zeal.here).map_or(String::new(), |place| format!("{place}: "));
        let advice = match zeal.language_here() {
            Language::C => "describe the type by TALLY_ARRAY_TYPE or one of its kin, or use TALLY_NEW",
            Language::Ir => "give its descriptor a stride and the offset of its length, or call tally_new",
        };
        let what =
            format!("{place}an array of {length} `{}` is asked for, and that is no array type: {advice}", info.name);
        stop(STATUS_VIOLATION, &what);
    }
}

impl Zeal {
    /// Stops the program if `address` lies in a dead object. Returns whether it lies in a live one.
    fn check_alive(&self, address: u64, site: &Site, epoch: u32, site_of: &dyn Fn(Birth) -> String) -> bool {
        let Some((start, birth)) = self.find(address) else { return false };
        let Some(&death) = birth.died.as_ref().or(birth.waits.as_ref()) else { return true };
        let place = site.place();
        let advice = match place.language() {
            Language::C => "name the variable in TALLY_ROOT, in the function that needs the object after that call",
            Language::Ir => "store the reference to an alloca that was given to llvm.gcroot before that call",
        };
        let what = format!(
            "{place}: use of a dead object: the `{}` at {start:#x}, {}, died in epoch {} (now {epoch}){}\n    \
             likely: no root held it at that safepoint; {advice}",
            birth.info().name,
            birth.byte(start, address, site),
            death.epoch,
            self.history(Birth { died: Some(death), ..birth }) + &site_of(birth),
        );
        stop(STATUS_VIOLATION, &what)
    }

    /// The language of the code that was at a safepoint last.
    fn language_here(&self) -> Language {
        self.places.get(self.here).map_or(Language::Ir, super::Place::language)
    }
}

impl Heap {
    /// The message for an address of another thread's object.
    pub(super) fn foreign(address: u64) -> String {
        format!("{address:#x}, {FOREIGN}")
    }
}
