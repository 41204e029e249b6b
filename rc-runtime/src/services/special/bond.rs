//! Bonds: entries of maps with weak values whose objects need no record for it. `[WEAK]`
//!
//! ```text
//!   value ── its cell in the table of records ──► bond ──► entry, and the number of its map      the same of a key that is weak, too
//!   entry ── its words ──► key, value
//! ```
//!
//! A link and the records of both its ends take 80 bytes for each weak side; a bond takes eight for the entry. So an object that is
//! the weak side of one entry, and that needs no record for anything else, has the bond's number in the place of a record's. What gives
//! it a record (a second entry, a weak reference, a weak slot in it, a finalizer that waits) gives its side of the entry a link. The
//! other side keeps the bond.
//!
//! Marks look for dead objects by their records, and go through the bonds afterwards: no ephemeron leads to a value that is dead. An
//! entry that loses a side loses the other at once, and a map that dies takes its entries out of their bonds before anything of it is released
//! (`member`). So no bond outlives its entry.

mod sides;

use super::{Specials, address_of, place_of};
use crate::memory::record_slab::Record;
use crate::object::ObjectRef;
use crate::services::weak_map::sides::{weak_key_of, weak_value_of};

/// An entry of a map with weak values.
///
/// ```text
/// place             bits 0 to 31 of the entry's place in the heap range
/// place_and_map     bits 0 to 7: its upper bits; 8 to 31: the number of its map; 0 of a free place
/// ```
#[derive(Debug, Default)]
pub(crate) struct Bond {
    place: u32,
    place_and_map: u32,
}

const _: () = assert!(std::mem::size_of::<Bond>() == 8);

const MAP_BITS_AT: u32 = 8;
/// Entries of a map with a higher number have links.
pub(super) const MAP_MAX: u64 = (1 << (32 - MAP_BITS_AT)) - 1;

impl Record for Bond {
    fn link(&mut self) -> &mut u32 {
        &mut self.place
    }
}

impl Bond {
    fn new(entry: ObjectRef, map: u64) -> Bond {
        let place = place_of(entry.address());
        Bond { place: place as u32, place_and_map: (place >> 32) as u32 | (map as u32) << MAP_BITS_AT }
    }

    fn map(&self) -> u64 {
        u64::from(self.place_and_map >> MAP_BITS_AT)
    }

    fn entry(&self) -> Option<ObjectRef> {
        if self.map() == 0 {
            return None;
        }
        let upper = u64::from(self.place_and_map & ((1 << MAP_BITS_AT) - 1));
        // SAFETY: [WEAK] an entry has its memory as long as it has a bond.
        Some(unsafe { ObjectRef::from_address(address_of(upper << 32 | u64::from(self.place))) })
    }
}

impl Specials {
    fn entry_of_bond(&self, number: u32) -> Option<ObjectRef> {
        self.bonds.get(number).and_then(Bond::entry)
    }

    /// Fetches the entry of a bond, if there is such.
    pub fn prefetch_bond(&self, number: u32) {
        self.entry_of_bond(number).into_iter().for_each(ObjectRef::prefetch);
    }

    /// No bond has a higher number.
    pub fn last_bond(&self) -> u32 {
        self.bonds.last()
    }

    /// The value of the entry of a bond, if it is an object.
    pub fn value_of_bond(&self, number: u32) -> Option<ObjectRef> {
        weak_value_of(self.entry_of_bond(number)?)
    }

    /// The key of the entry of a bond, if that is an object and weak.
    pub fn key_of_bond(&self, number: u32) -> Option<ObjectRef> {
        weak_key_of(self.entry_of_bond(number)?)
    }

    /// The entries of all bonds, and their weak sides.
    pub fn objects_of_bonds(&self) -> impl Iterator<Item = ObjectRef> + '_ {
        let entries = (1..=self.last_bond()).filter_map(|number| self.entry_of_bond(number));
        entries.flat_map(|entry| [Some(entry), weak_value_of(entry), weak_key_of(entry)]).flatten()
    }
}
