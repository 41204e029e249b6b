//! The comparison after an epoch or a collection.
//!
//! `replay.rs` decides when to compare; this file compares contents, live set and figures. Every message names the
//! object, its kind and its place, and the expected and found values.

use super::{EPOCHS_TO_FREE, Replay};
use crate::heap_under_test::{Deaths, HeapUnderTest};
use crate::model_heap::{Id, Word};

/// The work that has just been done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Poll,
    Epoch,
    Collection,
}

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Compares the two heaps; `collected` says that garbage of every sort must be gone.
    pub fn compare(&mut self, collected: bool) -> Result<(), String> {
        self.heap.verify().map_err(|what| format!("the heap's own verification: {what}"))?;
        self.after_work()?;
        self.heap.recount().map_err(|what| format!("the independent recount: {what}"))?;
        self.settle_doubtful_entries();
        let reachable = self.model.reachable();
        let collected = collected && !self.heap.has_frames_for_want_of_memory();
        self.compare_live_set(&reachable, collected)?;
        self.compare_weak_state(&reachable, collected)?;
        self.compare_stacks(&reachable)?;
        self.compare_contents(&reachable)?;
        self.compare_totals(&reachable, collected)?;
        self.summary.comparisons += 1;
        Ok(())
    }

    /// Compares the live set of a heap with prompt deaths after any safepoint, without an epoch before.
    pub(super) fn compare_after_poll(&mut self) -> Result<(), String> {
        self.settle_doubtful_entries();
        let reachable = self.model.reachable();
        self.compare_live_set_at(&reachable, After::Poll)?;
        self.summary.comparisons += 1;
        Ok(())
    }

    pub(super) fn compare_contents(&mut self, reachable: &[bool]) -> Result<(), String> {
        let mut extents = Vec::new();
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            let object = self.model.object(id);
            let address = self.addresses[id as usize];
            extents.push((address, address + object.kind.payload_bytes(object.length), id));
            self.compare_object(id).map_err(|what| format!("{} is reachable, but {what}", self.describe(id)))?;
            self.summary.objects_compared += 1;
        }
        extents.sort_unstable();
        match extents.windows(2).find(|pair| pair[0].1 > pair[1].0) {
            None => Ok(()),
            Some(pair) => Err(format!("{} and {} overlap", self.describe(pair[0].2), self.describe(pair[1].2))),
        }
    }

    /// Compares the object's words, except weak slots, which `weak_state.rs` compares.
    pub(super) fn compare_object(&self, id: Id) -> Result<(), String> {
        let (object, address) = (self.model.object(id), self.addresses[id as usize]);
        for (index, word) in object.words.iter().enumerate() {
            let offset = 8 * index as u64;
            if object.kind.is_hidden(offset) || matches!(word, Word::Weak { .. }) {
                continue;
            }
            let (expected, found) = (self.bits((object.kind, offset), *word), self.heap.load(address, offset));
            if expected != found {
                let meaning = self.describe_word(*word);
                return Err(format!("its word at offset {offset} is {found:#x}, not {expected:#x} ({meaning})"));
            }
        }
        Ok(())
    }

    pub(super) fn compare_live_set(&mut self, reachable: &[bool], collected: bool) -> Result<(), String> {
        self.compare_live_set_at(reachable, if collected { After::Collection } else { After::Epoch })
    }

    fn compare_live_set_at(&mut self, reachable: &[bool], after: After) -> Result<(), String> {
        let mut listed = self.heap.live_objects();
        listed.sort_unstable();
        if let Some(pair) = listed.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("the heap walk lists {:#x} twice", pair[0]));
        }
        for id in (0..reachable.len() as Id).filter(|id| reachable[*id as usize]) {
            if listed.binary_search(&self.addresses[id as usize]).is_err() {
                return Err(format!("{} is reachable, but the heap does not list it as live", self.describe(id)));
            }
        }
        let mut kept = vec![false; reachable.len()];
        for address in listed {
            match self.newest_at.get(&address) {
                Some(id) if reachable[*id as usize] => {}
                Some(id) if self.model.knows(*id) && after != After::Collection => kept[*id as usize] = true,
                Some(id) if self.model.knows(*id) => {
                    return Err(format!("{} is unreachable, but a collection left it", self.describe(*id)));
                }
                None if after != After::Collection && self.anonymous.contains(&address) => {}
                _ => return Err(format!("the heap lists {address:#x}, which no program object can be")),
            }
        }
        let deaths = self.heap.deaths();
        let garbage = self.model.countable_garbage(reachable, deaths == Deaths::Deferred);
        let before = std::mem::take(&mut self.epochs_as_garbage);
        for &id in if self.control.stopped { &[][..] } else { &garbage.countable[..] } {
            let epochs = before.get(&id).unwrap_or(&0) + 1;
            let patience = if deaths == Deaths::Deferred { EPOCHS_TO_FREE } else { self.patience_with_garbage() };
            if kept[id as usize] && epochs >= patience {
                return Err(format!(
                    "{} is unreachable since {epochs} comparisons and in no cycle, but counting has not freed it",
                    self.describe(id)
                ));
            }
            self.epochs_as_garbage.insert(id, epochs);
        }
        self.compare_awaiting(&garbage.awaiting)?;
        // A collection in parts goes on at polls, and finds cycles.
        let collected = self.finalizing.collected_inside || self.finalizing.in_parts;
        if deaths == Deaths::AtSafepointsExactly && after == After::Poll && !collected {
            let mut counted = vec![false; reachable.len()];
            self.model.countable_in_time(reachable).iter().for_each(|id| counted[*id as usize] = true);
            let is_early = |id: &Id| !reachable[*id as usize] && !kept[*id as usize] && !counted[*id as usize];
            if let Some(early) = self.model.known().find(is_early) {
                return Err(format!("{} hangs under a cycle, and a poll has freed it", self.describe(early)));
            }
        }
        self.begin_interval();
        let gone: Vec<Id> = self.model.known().filter(|id| !reachable[*id as usize] && !kept[*id as usize]).collect();
        if let Some(id) = gone.iter().find(|id| self.model.registered.contains(id)) {
            return Err(format!("{} is gone, and its finalizer has not run", self.describe(*id)));
        }
        for id in gone {
            self.model.forget(id);
            self.epochs_as_garbage.remove(&id);
        }
        Ok(())
    }

    pub(super) fn compare_totals(&mut self, reachable: &[bool], collected: bool) -> Result<(), String> {
        let totals = self.heap.totals();
        if totals.allocated_objects != totals.freed_objects + totals.live_objects {
            return Err(format!("allocated objects are not freed plus live ones: {totals:?}"));
        }
        let reachable_objects = reachable.iter().filter(|is| **is).count() as u64;
        if collected && totals.live_objects != reachable_objects {
            return Err(format!("after a collection {reachable_objects} objects are reachable, but {totals:?}"));
        }
        if let Some(hidden) = totals.hidden_dead {
            self.compare_births(totals.allocated_objects - hidden)?;
        }
        let bytes = self.reachable_bytes(reachable);
        if totals.live_bytes < bytes {
            return Err(format!("{bytes} bytes are reachable, but {totals:?}"));
        }
        Ok(())
    }

    pub(super) fn reachable_bytes(&self, reachable: &[bool]) -> u64 {
        let ids = (0..reachable.len() as Id).filter(|id| reachable[*id as usize]);
        ids.map(|id| self.model.object(id)).map(|object| 8 + object.kind.payload_bytes(object.length)).sum()
    }

    pub(super) fn describe(&self, id: Id) -> String {
        let address = self.addresses[id as usize];
        format!("object #{id} ({} at {address:#x})", self.model.object(id).kind.word())
    }

    pub(super) fn describe_word(&self, word: Word) -> String {
        match word {
            Word::Raw(_) => "no reference".into(),
            Word::Weak { target, .. } => format!("a weak reference to {}", self.describe(target)),
            Word::Reference(id) => format!("a reference to {}", self.describe(id)),
        }
    }
}
