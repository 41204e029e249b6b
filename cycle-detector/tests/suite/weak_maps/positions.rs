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

#[test]
fn the_first_entry_is_taken_again_and_again_while_others_come() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let keys: Vec<ObjectRef> = (0..700).map(|_| rooted(m, &NODE)).collect();
            let (mut added, mut taken) = (0, vec![]);
            while taken.len() < keys.len() {
                // More come at first than are taken; later none do.
                for _ in 0..if added < keys.len() { 1 + taken.len() % 3 } else { 0 } {
                    if added < keys.len() {
                        m.weak_map_set(map, keys[added], keys[added]).expect("memory");
                        added += 1;
                    }
                }
                let (position, key, _) = m.weak_map_next(map, 0).expect("there are more than were taken");
                assert_eq!(m.weak_map_find(map, key), Some(position), "{mode:?}");
                m.weak_map_remove(map, key);
                taken.push(key);
                assert_eq!(m.weak_map_count(map) as usize, added - taken.len(), "{mode:?}");
            }
            assert_eq!(m.weak_map_next(map, 0), None);
            taken.sort_unstable_by_key(|key| key.address());
            taken.dedup();
            assert_eq!(taken.len(), keys.len(), "{mode:?}: each was taken once");
            m.weak_map_set(map, keys[0], keys[1]).expect("memory");
            assert_eq!(m.weak_map_next(map, 0).map(|(_, key, value)| (key, value)), Some((keys[0], keys[1])));
        }
    });
}

#[test]
fn an_entry_that_gets_its_value_back_is_found_before_later_ones() {
    for_all_heaps(|m| {
        for mode in MODES {
            let map = map(m, mode);
            let keys: Vec<ObjectRef> = (0..40).map(|_| rooted(m, &NODE)).collect();
            keys.iter().for_each(|&key| m.weak_map_set(map, key, key).expect("memory"));
            let first = m.weak_map_next(map, 0).expect("forty").1;
            m.weak_map_remove(map, first);
            let second = m.weak_map_next(map, 0).expect("thirty-nine").1;
            assert_ne!(first, second, "{mode:?}");
            m.weak_map_set(map, first, second).expect("memory");
            let (mut found, mut position) = (vec![], 0);
            while let Some((next, key, _)) = m.weak_map_next(map, position) {
                (found, position) = ([found, vec![key]].concat(), next);
            }
            assert!(found.len() == 40 && found.contains(&first), "{mode:?}: {}", found.len());
        }
    });
}
