//! The comparison of weak slots, keys of ephemerons and weak maps, after an epoch or a collection.
//!
//! Words are read here, not upgraded: an upgrade would keep its target alive. A weak slot whose target must be there
//! refers to it; one whose target is gone is null; while the target is garbage that has not been found, either is
//! right. After a collection no such garbage is left. The model takes over here the slots that the heap has cleared.

use std::collections::HashMap;

use tally_heap::services::weak_map::WeakMode;

use super::Replay;
use crate::heap_under_test::HeapUnderTest;
use crate::model_heap::{Id, Owed, Word};

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Compares weak slots, keys and weak maps with the model.
    pub(super) fn compare_weak_state(&mut self, reachable: &[bool], collected: bool) -> Result<(), String> {
        for id in self.model.watchers().into_iter().filter(|id| reachable[*id as usize]) {
            for (offset, target, sure) in self.model.weak_slots(id) {
                self.compare_weak_slot(id, offset, (target, sure), reachable[target as usize], collected)?;
            }
        }
        let maps: Vec<Id> = self.model.maps.keys().copied().filter(|id| reachable[*id as usize]).collect();
        for map in maps {
            self.compare_map(map, reachable, collected).map_err(|what| format!("{}: {what}", self.describe(map)))?;
        }
        let sets: Vec<Id> = self.model.sets.keys().copied().filter(|id| reachable[*id as usize]).collect();
        for set in sets {
            self.compare_set(set, reachable, collected).map_err(|what| format!("{}: {what}", self.describe(set)))?;
        }
        let owed = self.model.owed.iter().find(|(id, owed)| **owed == Owed::Surely && reachable[**id as usize]);
        match owed.filter(|_| collected) {
            Some((id, _)) => {
                Err(format!("the target of {} is gone, and its callback was not called", self.describe(*id)))
            }
            None => Ok(()),
        }
    }

    /// One slot, whose target `lives` or does not.
    pub(super) fn compare_weak_slot(
        &mut self,
        id: Id,
        offset: u64,
        (target, sure): (Id, bool),
        lives: bool,
        collected: bool,
    ) -> Result<(), String> {
        let word = self.heap.load(self.addresses[id as usize], offset);
        let what = match word {
            0 if lives && sure => "is null, but its target is reachable",
            0 => {
                self.model.clear_weak(id, offset);
                return Ok(());
            }
            word if word != self.addresses[target as usize] => "refers to something else",
            _ if collected && !lives => "refers to garbage after a collection",
            _ => {
                if lives {
                    self.model.store(id, offset, Word::Weak { target, sure: true });
                }
                return Ok(());
            }
        };
        let (holder, target) = (self.describe(id), self.describe(target));
        Err(format!("the weak slot of {holder} at offset {offset} {what}: {target} ({word:#x}) [WEAK]"))
    }

    /// The heap says which of the entries are still there that it may have removed: the others hold no key.
    pub(super) fn settle_doubtful_entries(&mut self) {
        loop {
            let doubtful = self.model.doubtful_entries();
            if doubtful.is_empty() {
                return;
            }
            for (map, key) in doubtful {
                let listed = self.heap.map_entries(self.addresses[map as usize]);
                let is_there = listed.iter().any(|&(of, _)| of == self.addresses[key as usize]);
                let entries = &mut self.model.maps.get_mut(&map).expect("it is there").entries;
                match is_there {
                    true => entries.get_mut(&key).expect("it is there").sure = true,
                    false => _ = entries.remove(&key),
                }
            }
        }
    }

    fn compare_map(&mut self, map: Id, reachable: &[bool], collected: bool) -> Result<(), String> {
        let address = self.addresses[map as usize];
        let listed = self.heap.map_entries(address);
        let count = self.heap.map_count(address);
        if count != listed.len() as u64 {
            return Err(format!("it says that it has {count} entries, and has {}", listed.len()));
        }
        let mut listed: HashMap<u64, u64> = listed.into_iter().collect();
        let model = self.model.maps[&map].clone();
        for (key, entry) in model.entries {
            let dead = match model.mode {
                WeakMode::Keys => !reachable[key as usize],
                WeakMode::Values => !reachable[entry.value as usize],
                WeakMode::Both => !reachable[key as usize] || !reachable[entry.value as usize],
            };
            let (key_text, value_text) = (self.describe(key), self.describe(entry.value));
            let entries = &mut self.model.maps.get_mut(&map).expect("it is there").entries;
            match listed.remove(&self.addresses[key as usize]) {
                None if dead || !entry.sure => _ = entries.remove(&key),
                None => return Err(format!("its entry of {key_text} is gone, and {value_text} is reachable")),
                Some(value) if value != self.addresses[entry.value as usize] => {
                    return Err(format!("it has {value:#x} for {key_text}, not {value_text}"));
                }
                Some(_) if dead && collected => {
                    return Err(format!("a collection has left its entry of {key_text} and {value_text}"));
                }
                Some(_) => entries.get_mut(&key).expect("it is there").sure |= !dead,
            }
        }
        match listed.into_iter().next() {
            Some((key, value)) => {
                Err(format!("it has an entry of {key:#x} and {value:#x}, which no operation has made"))
            }
            None => Ok(()),
        }
    }
}
