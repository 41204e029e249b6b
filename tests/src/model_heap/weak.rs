//! The fate of weak slots, keys, map entries and members of sets when an object dies.
//!
//! The heap clears them by itself, at moments that the model does not know in advance. The rules: when a finalizer
//! runs, weak slots that refer to its object are null; weak slots that refer to other garbage may be null, because
//! that may be part of the same set. When an object is gone, all weak slots that referred to it are null, an
//! ephemeron with it as its key is empty, and its entries in weak maps are gone.

use std::collections::BTreeMap;

use tally_heap::services::weak_map::WeakMode;

use super::{Id, ModelHeap, Word};
use crate::shape::Kind;

/// A weak map.
#[derive(Clone, Debug)]
pub struct ModelMap {
    /// Which side of an entry is weak.
    pub mode: WeakMode,
    /// By key.
    pub entries: BTreeMap<Id, ModelEntry>,
}

/// An entry of a weak map.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// The value.
    pub value: Id,
    /// Whether it is there for certain, as for [`Word::Weak`].
    pub sure: bool,
}

/// A member of a weak set.
#[derive(Clone, Copy, Debug)]
pub struct ModelMember {
    /// Its hash, if that has not changed since it was added.
    pub hash: Option<u32>,
    /// Whether it is there for certain, as for [`Word::Weak`].
    pub sure: bool,
}

/// A callback that has not been called yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// It must be called.
    Surely,
    /// The weak reference was garbage itself for a while: it may have been forgotten.
    Perhaps,
}

impl ModelMap {
    /// An empty map.
    pub fn new(mode: WeakMode) -> ModelMap {
        ModelMap { mode, entries: BTreeMap::new() }
    }

    /// Sets the value of `key`.
    pub fn set(&mut self, key: Id, value: Id) {
        self.entries.insert(key, ModelEntry { value, sure: true });
    }
}

impl ModelHeap {
    /// The objects with weak slots that have not been forgotten.
    pub fn watchers(&self) -> Vec<Id> {
        self.watchers.iter().copied().collect()
    }

    /// The weak slots of an object that refer to something: (offset, target, whether for certain).
    pub fn weak_slots(&self, id: Id) -> Vec<(u64, Id, bool)> {
        let weak = self.object(id).kind.shape().weak.iter().map(|offset| u64::from(*offset));
        weak.filter_map(|offset| match self.load(id, offset) {
            Word::Weak { target, sure } => Some((offset, target, sure)),
            _ => None,
        })
        .collect()
    }

    /// Notes that the heap has cleared a weak slot.
    pub fn clear_weak(&mut self, id: Id, offset: u64) {
        let sure = !matches!(self.load(id, offset), Word::Weak { sure: false, .. });
        self.store(id, offset, Word::Raw(0));
        match self.object(id).kind {
            Kind::WeakCalled => {
                self.owed.insert(id, if sure { Owed::Surely } else { Owed::Perhaps });
            }
            kind if kind.shape().ephemeron => {
                for slot in kind.shape().refs {
                    self.store(id, u64::from(*slot), Word::Raw(0));
                }
            }
            _ => {}
        }
    }

    /// Notes that the finalizer of `dead` begins; `reachable` are the objects that must be there.
    pub fn begin_reclaim(&mut self, dead: Id, reachable: &[bool]) {
        for id in self.watchers() {
            let is_key = self.object(id).kind.shape().ephemeron;
            for (offset, target, _) in self.weak_slots(id) {
                if is_key {
                    continue;
                } else if target == dead {
                    self.clear_weak(id, offset);
                } else if !reachable[target as usize] {
                    self.store(id, offset, Word::Weak { target, sure: false });
                }
            }
            if self.object(id).kind == Kind::WeakCalled && !reachable[id as usize] {
                // Whatever callback it is owed, or will be: it may be part of this set.
                if self.weak_slots(id).is_empty() && self.owed.contains_key(&id) {
                    self.owed.insert(id, Owed::Perhaps);
                }
            }
        }
        for members in self.sets.values_mut() {
            members.remove(&dead);
            for (_, member) in members.iter_mut().filter(|(id, _)| !reachable[**id as usize]) {
                member.sure = false;
            }
        }
        for map in self.maps.values_mut().filter(|map| map.mode != WeakMode::Keys) {
            map.entries.retain(|_, entry| entry.value != dead);
            for entry in map.entries.values_mut().filter(|entry| !reachable[entry.value as usize]) {
                entry.sure = false;
            }
        }
    }

    /// The hash of an object is written to.
    pub fn forget_hash(&mut self, id: Id) {
        for member in self.sets.values_mut().filter_map(|members| members.get_mut(&id)) {
            member.hash = None;
        }
    }

    /// Removes an object that is gone for good.
    pub(super) fn forget_weakly(&mut self, gone: Id) {
        self.sets.remove(&gone);
        for members in self.sets.values_mut() {
            members.remove(&gone);
        }
        self.watchers.remove(&gone);
        self.owed.remove(&gone);
        self.maps.remove(&gone);
        for map in self.maps.values_mut() {
            map.entries.retain(|key, entry| *key != gone && entry.value != gone);
        }
        for id in self.watchers() {
            for (offset, target, _) in self.weak_slots(id) {
                if target == gone {
                    self.clear_weak(id, offset);
                }
            }
        }
    }
}
