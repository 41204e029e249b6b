//! The garbage that plain counting finds: objects without a reference to them, then those that have none without the
//! first, and so on.
//!
//! Objects that are reachable from a garbage cycle do not count, nor, where counts are small, those under an object
//! that was once widely shared. An object with a finalizer, and the objects that it refers to, are not freed before
//! it was finalized: they are listed apart. References that a live ephemeron or a weak map holds because of a garbage
//! key or value go some time later; the long form ([`ModelHeap::countable_in_time`]) counts their objects as freed,
//! too.

use std::collections::{HashMap, VecDeque};

use tally_heap::services::weak_map::WeakMode;

use super::{Id, ModelHeap, NEAR_SATURATION};

/// Garbage that counting finds, by its next step.
#[derive(Debug, Default)]
pub struct Garbage {
    /// Garbage that is freed.
    pub countable: Vec<Id>,
    /// Garbage that is finalized.
    pub awaiting: Vec<Id>,
}

/// References that go when `owner` goes, or some time after `trigger` has gone.
struct Hold {
    owner: Id,
    trigger: Id,
    targets: Vec<Id>,
    released: bool,
}

impl ModelHeap {
    /// Of the known objects that are not `reachable`, those that plain counting frees or finalizes. Where counts
    /// `saturate` soon, widely shared objects are not among them.
    pub fn countable_garbage(&self, reachable: &[bool], saturate: bool) -> Garbage {
        self.peel(reachable, saturate, false)
    }

    /// The same with all objects that counting may free in the end.
    pub fn countable_in_time(&self, reachable: &[bool]) -> Vec<Id> {
        self.peel(reachable, false, true).countable
    }

    /// What ephemerons and weak maps hold because of garbage keys and values: that object and the one held for it.
    pub fn held_because_of(&self, reachable: &[bool]) -> Vec<(Id, Id)> {
        let holds = self.holds(reachable).into_iter();
        holds.flat_map(|hold| hold.targets.into_iter().map(move |target| (hold.trigger, target))).collect()
    }

    fn holds(&self, reachable: &[bool]) -> Vec<Hold> {
        let mut holds = Vec::new();
        for owner in self.watchers() {
            if let Some(trigger) = self.key_of(owner).filter(|key| !reachable[*key as usize]) {
                let targets = self.references(owner).collect();
                holds.push(Hold { owner, trigger, targets, released: false });
            }
        }
        for (owner, map) in &self.maps {
            for (key, entry) in &map.entries {
                let (trigger, targets) = match map.mode {
                    WeakMode::Keys => (*key, vec![entry.value]),
                    WeakMode::Values => (entry.value, vec![*key]),
                    WeakMode::Both => continue,
                };
                holds.push(Hold { owner: *owner, trigger, targets, released: false });
            }
        }
        holds
    }

    fn peel(&self, reachable: &[bool], saturate: bool, in_time: bool) -> Garbage {
        let known: Vec<Id> = self.known().filter(|id| !reachable[*id as usize]).collect();
        let mut holds = self.holds(reachable);
        let mut held = vec![0u32; self.objects.len()];
        let mut held_by: HashMap<Id, Vec<usize>> = HashMap::new();
        let mut by_holds = vec![false; self.objects.len()];
        for (index, hold) in holds.iter().enumerate() {
            by_holds[hold.owner as usize] |= !self.maps.contains_key(&hold.owner);
            hold.targets.iter().for_each(|target| held[*target as usize] += 1);
            held_by.entry(hold.owner).or_default().push(index);
            if in_time {
                held_by.entry(hold.trigger).or_default().push(index);
            }
        }
        let plain = |id: Id| if by_holds[id as usize] { Vec::new() } else { self.references(id).collect() };
        for target in known.iter().flat_map(|id| plain(*id)) {
            held[target as usize] += 1;
        }
        let stuck = |id: Id| saturate && self.object(id).references_held_max >= NEAR_SATURATION;
        let mut found = Garbage::default();
        let mut next: VecDeque<Id> = known.into_iter().filter(|id| held[*id as usize] == 0).collect();
        while let Some(id) = next.pop_front() {
            if stuck(id) {
                continue;
            }
            if self.registered.contains(&id) {
                found.awaiting.push(id);
                continue;
            }
            found.countable.push(id);
            let mut targets = plain(id);
            for index in held_by.get(&id).into_iter().flatten() {
                if !std::mem::replace(&mut holds[*index].released, true) {
                    targets.extend(&holds[*index].targets);
                }
            }
            for target in targets {
                held[target as usize] -= 1;
                if held[target as usize] == 0 && !reachable[target as usize] {
                    next.push_back(target);
                }
            }
        }
        found
    }
}
