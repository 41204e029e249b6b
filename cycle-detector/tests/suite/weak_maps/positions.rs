//! The position of a key's entry, from which a walk of the map goes on.

use crate::weak_maps::{MODES, NODE, for_all_heaps, map, rooted};
use tally_heap::ObjectRef;

#[test]
fn a_key_without_an_entry_has_no_position() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let (key, other) = (rooted(m, &NODE), rooted(m, &NODE));
            assert_eq!(m.weak_map_find(map, key), None);
            m.weak_map_set(map, key, other).expect("memory");
            let position = m.weak_map_find(map, key);
            assert_eq!(m.weak_map_next(map, 0).map(|(position, ..)| position), position);
            assert_eq!((position.is_some(), m.weak_map_find(map, other)), (true, None));
            m.weak_map_remove(map, key);
            assert_eq!(m.weak_map_find(map, key), None);
        }
    });
}

#[test]
fn a_walk_goes_on_behind_any_key_of_a_large_map() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let keys: Vec<ObjectRef> = (0..500).map(|_| rooted(m, &NODE)).collect();
            keys.iter().for_each(|&key| m.weak_map_set(map, key, key).expect("memory"));
            let mut found = 0;
            let mut at = m.weak_map_next(map, 0);
            while let Some((position, key, _)) = at {
                assert_eq!(m.weak_map_find(map, key), Some(position), "{mode:?}");
                found += 1;
                at = m.weak_map_find(map, key).and_then(|position| m.weak_map_next(map, position));
            }
            assert_eq!(found, keys.len());
        }
    });
}
