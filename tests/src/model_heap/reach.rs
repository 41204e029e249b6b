//! The objects that must be there: those that roots reach, by the rules of ephemerons and weak maps.
//!
//! An ephemeron's references are followed only if it has no key, or one that is reached; the values of a map with
//! weak keys likewise. A map with weak values holds its keys, but an entry whose value is not reached otherwise is
//! removed, at a time that the heap chooses. So such an entry is removed and reachability computed again, until there
//! is none. Objects that are reached only before that may be there or not, as any garbage.

use std::collections::BTreeSet;

use tally_heap::services::weak_map::WeakMode;

use super::{Id, ModelHeap, Word};

impl ModelHeap {
    /// For each id, whether it must be there.
    pub fn reachable(&self) -> Vec<bool> {
        self.reachable_without(BTreeSet::new())
    }

    /// Entries (map, key) with weak values that the heap may have removed before a finalizer made the value reachable again, of maps that must
    /// be there without any such entry. What only their keys lead to may be gone.
    pub fn doubtful_entries(&self) -> Vec<(Id, Id)> {
        let of_values = self.maps.iter().filter(|(_, map)| map.mode == WeakMode::Values);
        let doubtful: BTreeSet<(Id, Id)> = of_values
            .flat_map(|(id, map)| map.entries.iter().filter(|(_, entry)| !entry.sure).map(|(key, _)| (*id, *key)))
            .collect();
        let reachable = self.reachable_without(doubtful.clone());
        doubtful.into_iter().filter(|(map, _)| reachable[*map as usize]).collect()
    }

    fn reachable_without(&self, mut without: BTreeSet<(Id, Id)>) -> Vec<bool> {
        loop {
            let seen = self.reached_without(&without);
            let before = without.len();
            for (id, map) in self.maps.iter().filter(|(id, map)| map.mode == WeakMode::Values && seen[**id as usize]) {
                let dead = map.entries.iter().filter(|(_, entry)| !seen[entry.value as usize]);
                without.extend(dead.map(|(key, _)| (*id, *key)));
            }
            if without.len() == before {
                return seen;
            }
        }
    }

    /// The key of an ephemeron that has one.
    pub fn key_of(&self, id: Id) -> Option<Id> {
        let shape = self.object(id).kind.shape();
        match self.load(id, u64::from(*shape.weak.first().filter(|_| shape.ephemeron)?)) {
            Word::Weak { target, .. } => Some(target),
            _ => None,
        }
    }

    /// The objects that roots reach without these entries (map, key) of maps with weak values.
    fn reached_without(&self, without: &BTreeSet<(Id, Id)>) -> Vec<bool> {
        let mut seen = vec![false; self.objects.len()];
        let mut work: Vec<Id> = self.held_by_roots().collect();
        let (mut held_back, mut maps): (Vec<Id>, Vec<Id>) = (Vec::new(), Vec::new());
        loop {
            while let Some(id) = work.pop() {
                if std::mem::replace(&mut seen[id as usize], true) {
                    continue;
                }
                match self.maps.get(&id) {
                    Some(map) if map.mode == WeakMode::Values => {
                        work.extend(map.entries.keys().filter(|key| !without.contains(&(id, **key))));
                    }
                    Some(_) => maps.push(id),
                    None if self.key_of(id).is_some() => held_back.push(id),
                    None => work.extend(self.references(id)),
                }
            }
            let (follow, rest): (Vec<Id>, Vec<Id>) =
                held_back.into_iter().partition(|id| self.key_of(*id).is_some_and(|key| seen[key as usize]));
            held_back = rest;
            work.extend(follow.into_iter().flat_map(|id| self.references(id)));
            for map in maps.iter().map(|id| &self.maps[id]).filter(|map| map.mode == WeakMode::Keys) {
                let values = map.entries.iter().filter(|(key, _)| seen[**key as usize]).map(|(_, entry)| entry.value);
                work.extend(values.filter(|value| !seen[*value as usize]));
            }
            if work.is_empty() {
                return seen;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_heap::weak::ModelMap;
    use crate::shape::Kind;

    fn weakly(heap: &mut ModelHeap, holder: Id, offset: u64, target: Id) {
        heap.store(holder, offset, Word::Weak { target, sure: true });
    }

    #[test]
    fn an_ephemeron_keeps_its_value_only_with_its_key_whatever_the_value_refers_to() {
        let mut heap = ModelHeap::default();
        let [keyed, key, value] = [Kind::Keyed, Kind::Pair, Kind::Pair].map(|kind| heap.allocate(kind, 0));
        weakly(&mut heap, keyed, 16, key);
        heap.store(keyed, 0, Word::Reference(value));
        heap.store(value, 0, Word::Reference(key));
        heap.roots = vec![Some(keyed)];
        assert_eq!(heap.reachable(), [true, false, false]);
        heap.globals = vec![Some(key)];
        assert_eq!(heap.reachable(), [true, true, true]);
    }

    #[test]
    fn a_map_with_weak_values_holds_the_keys_of_those_that_live_through_one_another_too() {
        let mut heap = ModelHeap::default();
        let map = heap.allocate(Kind::WeakMap, 0);
        let pairs: Vec<Id> = (0..4).map(|_| heap.allocate(Kind::Pair, 0)).collect();
        let mut entries = ModelMap::new(WeakMode::Values);
        entries.set(pairs[0], pairs[1]);
        entries.set(pairs[2], pairs[3]);
        heap.maps.insert(map, entries);
        heap.roots = vec![Some(map)];
        // The first key refers to its value: both stay. Nothing else holds the second value: its key goes as well.
        heap.store(pairs[0], 0, Word::Reference(pairs[1]));
        assert_eq!(heap.reachable(), [true, true, true, false, false]);
    }
}
