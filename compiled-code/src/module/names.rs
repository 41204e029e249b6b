//! Names that a module keeps for reports: of the fields of its types, and the lines of its roots.
//!
//! ```text
//! Node 0 next 8 value            a type, then offset and name of each of its fields
//! @4711 12 lists.c               the id of a root, the line where it was made one, and the file
//! ```
//!
//! The lowering adds the text where it is asked for (`tally build --names`) or the module asks why objects are alive.
//! Nothing is read of it before a report is made.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use tally_heap::type_registry::TypeInfo;

/// File and line where a root was made one, by the root's id.
pub(crate) type RootPlaces = FxHashMap<u64, (Arc<str>, u32)>;

/// Tells the types the names of their fields.
pub(super) fn tell_fields(text: &str, types: &[&'static TypeInfo]) {
    for info in types.iter().filter(|info| !info.has_field_names()) {
        let of_type = |line: &'_ str| Some(line.strip_prefix(&*info.name)?.strip_prefix(' ')?.to_owned());
        if let Some(fields) = text.lines().find_map(of_type) {
            info.tell_field_names(&fields);
        }
    }
}

/// Adds the places of roots.
pub(super) fn add_places(text: &str, places: &mut RootPlaces) {
    for line in text.lines().filter_map(|line| line.strip_prefix('@')) {
        let mut words = line.splitn(3, ' ');
        let number = words.next().and_then(|id| id.parse::<u64>().ok());
        let place = words.next().and_then(|line| line.parse::<u32>().ok()).zip(words.next());
        if let (Some(id), Some((line, file))) = (number, place) {
            places.insert(id, (file.into(), line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RootPlaces, add_places};

    #[test]
    fn places_of_roots_are_read_and_other_lines_passed_over() {
        let mut places = RootPlaces::default();
        add_places("Node 0 next\n@4711 12 a file.c\n@x 3 b.c\n@12\n", &mut places);
        assert_eq!(places.into_iter().collect::<Vec<_>>(), [(4711, ("a file.c".into(), 12))]);
    }
}
