//! The places of a module's calls in the source: what the return address of a call says to a report.
//!
//! A module that keeps names (`names`) gives each call that may be a safepoint a number ([`stack_roots::SITE_ID`]) in its stack map, and a line in its
//! text:
//!
//! ```text
//! !4711⇥12⇥push⇥lists.c          the number of a call, its line, its function, and the file, with tabs between them
//! ```
//!
//! The table is made when the first address of the module is asked for. A stack map that a link-time optimiser has merged has numbers
//! of several modules, so all texts are looked into.

use crate::module::loaded;
use crate::module::record::ModuleRecord;
use rustc_hash::FxHashMap;
use stack_roots::{compact_map, root_records, stack_map};
use tally_heap::services::alloc_site::CodePlace;

/// The calls of one module.
#[derive(Debug, Default)]
pub(super) struct CallSites {
    by_return: FxHashMap<u64, Box<[u64]>>,
    places: FxHashMap<u64, CodePlace>,
}

impl CallSites {
    /// The calls of a module with this text of names.
    pub(super) fn of(module: &ModuleRecord, names: &str) -> CallSites {
        let places = names.lines().filter_map(place).collect();
        CallSites { by_return: by_return(module).unwrap_or_default(), places }
    }

    /// The numbers of the places that a call returns to, innermost first.
    pub(super) fn at(&self, return_address: u64) -> &[u64] {
        self.by_return.get(&return_address).map_or(&[], |sites| sites)
    }

    /// Whether the module keeps any places.
    pub(super) fn has_any(&self) -> bool {
        !self.by_return.is_empty()
    }

    pub(super) fn place(&self, number: u64) -> Option<&CodePlace> {
        self.places.get(&number)
    }
}

/// A line of the text that names a call's place.
fn place(line: &str) -> Option<(u64, CodePlace)> {
    let mut words = line.strip_prefix('!')?.splitn(4, '\t');
    let (number, line) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (function, file) = (words.next()?.into(), words.next()?.into());
    Some((number, CodePlace { function, file, line }))
}

/// The numbers in the module's stack map, which is LLVM's where there are any.
fn by_return(module: &ModuleRecord) -> Option<FxHashMap<u64, Box<[u64]>>> {
    if module.stack_maps.is_null() {
        return None;
    }
    let bytes = loaded::stack_map_of(module);
    if bytes.starts_with(&compact_map::MAGIC) {
        return None;
    }
    let map = if module.stack_maps_size != 0 { stack_map::read(bytes) } else { stack_map::read_first(bytes) };
    let calls = map.ok()?.records().map(|record| {
        let return_address = record.function.address.wrapping_add(u64::from(record.instruction_offset));
        (return_address, root_records::call_sites(&record).into())
    });
    Some(calls.filter(|(_, sites): &(u64, Box<[u64]>)| !sites.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_of_calls_are_read_and_other_lines_passed_over() {
        let (number, push) = place("!4711\t12\tpush\ta file.c").expect("a place");
        assert_eq!((number, push.to_string().as_str()), (4711, "`push` at a file.c:12"));
        for other in ["Node 0 next", "@4711 12 a.c", "!x\t1\tf\ta.c", "!1\t1\tf", "!"] {
            assert!(place(other).is_none(), "{other}");
        }
    }
}
