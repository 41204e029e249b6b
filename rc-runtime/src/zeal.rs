//! Zeal: the paranoid heap that finds forgotten roots and wrong writes.
//!
//! Every allocation is registered here, dead memory is poisoned and never used again, and compiled code lowered for zeal
//! asks about each address before it touches it (`access`). So the first touch of an object that the collector has proved dead is
//! reported with the function and line that did it, the object's type, where it was made, and the safepoint at which it
//! died: nearly always the frontend forgot to put a reference into a root across that safepoint. Writes are held against what the
//! IR contract asks of them (`write`).
//!
//! Now and then the heap is looked over (`inspection`): a reference that is no object's address, a header that the
//! program has written over, and bytes behind an object that have changed (`guard`), are reported there, not where counting would stumble over them. How often, `pace` says.
//!
//! Cost: an ordered map per heap, and an epoch per safepoint.

pub mod access;
mod guard;
mod inspection;
mod pace;
pub mod site;
pub mod write;

pub use pace::EARNED_BY_EPOCH;
pub use site::{Language, Place, PlaceId, Site};

use crate::object::{HEADER_BYTES, ObjectRef};
use crate::type_registry::TypeInfo;
use pace::Pace;
use site::Places;
use std::collections::{BTreeMap, BTreeSet};

/// The byte that dead payloads are filled with.
pub const POISON: u8 = 0xdb;

/// A registered allocation.
#[derive(Debug, Clone, Copy)]
pub struct Birth {
    /// One past the last payload byte.
    pub end: u64,
    /// Header meta without flags.
    pub(crate) type_meta: u32,
    /// Where compiled code asked for it, or called what did.
    pub made: PlaceId,
    /// The number of its allocation site, if those are recorded.
    site: u32,
    /// When it was found dead.
    pub died: Option<Death>,
    /// When it was found dead and kept for its finalizer, while no code of the program has run since that could have it back.
    waits: Option<Death>,
}

/// The end of an object.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    /// The epoch that found it dead.
    pub epoch: u32,
    /// The safepoint of that epoch.
    pub place: PlaceId,
}

/// All allocations of a heap.
#[derive(Debug, Default)]
pub struct Zeal {
    objects: BTreeMap<u64, Birth>,
    /// Those of `objects` that have not died. The dead are kept for good, and a recount must not go through them each time.
    living: BTreeSet<u64>,
    young: Vec<ObjectRef>,
    /// The addresses of objects that wait.
    waiting: Vec<u64>,
    places: Places,
    /// The last safepoint of compiled code.
    here: PlaceId,
    pace: Pace,
    /// Storage that a function of the program fills by plain stores now (`resize`).
    pub(crate) filled: Option<ObjectRef>,
}

impl Zeal {
    /// Registers a new object whose length is set.
    pub fn birth(&mut self, object: ObjectRef, cell: u64) {
        self.birth_counted(object, cell);
        self.young.push(object);
    }

    /// Registers a new object of a prompt heap, in which nothing is young.
    pub(crate) fn birth_counted(&mut self, object: ObjectRef, cell: u64) {
        let end = object.address() + cell - HEADER_BYTES;
        let type_meta = object.meta() & !crate::object::flag::ALL;
        let birth = Birth { end, type_meta, made: self.here, site: 0, died: None, waits: None };
        self.guard(object, birth);
        self.objects.insert(object.address(), birth);
        self.living.insert(object.address());
    }

    /// Notes the number of a new object's allocation site.
    pub(crate) fn note_site(&mut self, object: ObjectRef, site: u32) {
        self.objects.entry(object.address()).and_modify(|birth| birth.site = site);
    }

    /// Notes an object's death, in the header too, and poisons it.
    pub(crate) fn quarantine(&mut self, object: ObjectRef, cell: u64, epoch: u32) {
        if let Some(birth) = self.objects.get_mut(&object.address()) {
            birth.died = Some(Death { epoch, place: self.here });
        }
        self.living.remove(&object.address());
        object.add_flags(crate::object::flag::DEAD);
        // SAFETY: a dead object of this heap, whose memory is quarantined.
        unsafe { std::ptr::write_bytes(object.address() as *mut u8, POISON, (cell - HEADER_BYTES) as usize) };
    }

    /// After the increments of a flip: objects young then and not promoted are dead. Large objects are buried by
    /// their own list.
    pub fn quarantine_young(&mut self, epoch: u32) {
        let (dead, young): (Vec<_>, Vec<_>) = std::mem::take(&mut self.young)
            .into_iter()
            .filter(|object| !object.is_mature() && !object.has(crate::object::flag::DEAD))
            .partition(|object| object.stamp() != epoch);
        self.young = young;
        for object in dead.into_iter().filter(|object| !object.has(crate::object::flag::LARGE)) {
            self.quarantine(object, object.type_info().cell_bytes_of(object), epoch);
        }
    }

    /// Deferred and trace plan: the object was found dead and waits for its finalizer, or does no more.
    pub(crate) fn note_waiting(&mut self, object: ObjectRef, waits: bool, epoch: u32) {
        let death = Death { epoch, place: self.here };
        if let Some(birth) = self.objects.get_mut(&object.address()) {
            birth.waits = waits.then_some(death);
            self.waiting.extend(waits.then_some(object.address()));
        }
    }

    /// A finalizer or a host may give the program what waits: none of it is known to be out of reach any more.
    pub(crate) fn forget_waiting(&mut self) {
        for address in self.waiting.drain(..) {
            self.objects.entry(address).and_modify(|birth| birth.waits = None);
        }
    }

    /// Trace plan: a collection has looked at all objects, young or not.
    pub(crate) fn forget_young(&mut self) {
        self.young.clear();
    }

    /// Returns the objects that have not died, by address.
    pub fn living(&self) -> Vec<ObjectRef> {
        // SAFETY: [HEADER] registered objects that have not died.
        self.living.iter().map(|&address| unsafe { ObjectRef::from_address(address) }).collect()
    }

    /// The allocation that contains `address`.
    pub fn find(&self, address: u64) -> Option<(u64, Birth)> {
        let (&start, &birth) = self.objects.range(..=address).next_back()?;
        (address < birth.end.max(start + 8)).then_some((start, birth))
    }

    /// The live object that starts at exactly `address`.
    pub fn live_object(&self, address: u64) -> Option<ObjectRef> {
        let birth = self.objects.get(&address)?;
        // SAFETY: [HEADER] a registered object that has not died.
        birth.died.is_none().then(|| unsafe { ObjectRef::from_address(address) })
    }

    /// Whether an object was ever made there.
    pub fn has_seen(&self, object: ObjectRef) -> bool {
        self.objects.contains_key(&object.address())
    }

    /// Where the object was made and where it died, as lines of a message.
    fn history(&self, birth: Birth) -> String {
        let made = self.places.get(birth.made).map(|place| format!("\n    made:   {place}"));
        let died = birth.died.map(|death| match self.places.get(death.place) {
            Some(place) => format!("\n    died:   in epoch {}, at the safepoint {place}", death.epoch),
            None => format!("\n    died:   in epoch {}", death.epoch),
        });
        made.unwrap_or_default() + &died.unwrap_or_default()
    }

    /// The safepoint at which something was noticed, as a line of a message.
    pub fn noticed(&self) -> String {
        self.places.get(self.here).map_or(String::new(), |place| format!("\n    noticed: at the safepoint {place}"))
    }
}

impl Birth {
    /// The type of the object.
    fn info(&self) -> &'static TypeInfo {
        // SAFETY: [HEADER] a registered type's.
        unsafe { TypeInfo::of_meta(self.type_meta) }
    }

    /// "byte 8 of 16 (its reference 2 of 2)".
    fn byte(&self, start: u64, address: u64, site: &Site) -> String {
        let (info, offset) = (self.info(), address - start);
        let what = match info.fixed.iter().position(|&fixed| u64::from(fixed) == offset & !7) {
            Some(index) => format!(" (its reference {} of {})", index + 1, info.fixed.len()),
            None if info.stride != 0 && offset >= info.size => {
                format!(" (in element {})", (offset - info.size) / info.stride)
            }
            None => String::new(),
        };
        format!("{}byte {offset} of {}{what}", site.field(&info.name, offset), self.end - start)
    }
}
