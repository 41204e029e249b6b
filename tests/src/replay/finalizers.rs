//! Finalizers: their events, applied to the model in the order in which they happened, and checked.
//!
//! No object is finalized that roots reached all the time, or that is not registered. An object of an owner-first
//! kind is not finalized before those of its kind that refer to it, unless rings are among them. Once an object's
//! finalizer has begun, no weak reference yields it. Garbage that plain counting finds is finalized after a few
//! epochs, or at the second safepoint under the prompt plan: the first may have brought it back.

use std::collections::{HashMap, HashSet};

use super::effects::data_offsets;
use super::{EPOCHS_TO_FREE, Replay};
use crate::heap_under_test::{Deaths, HeapUnderTest};
use crate::model_heap::{Id, Owed, Word};
use crate::op::Deed;
use crate::op::GLOBALS;
use crate::op::deed::{Event, hang_offset};
use crate::shape::{DEED, Finalizes, Kind};

/// The state of finalizers during a run.
#[derive(Debug, Default)]
pub(super) struct Finalizing {
    /// Finalizers that will unwind, or whose exceptions were not caught yet.
    unwinding: Vec<Id>,
    /// Comparisons at which the object was seen waiting.
    epochs_awaiting: HashMap<Id, u32>,
    /// Some finalizers ran in the running op.
    pub(super) ran_in_this_op: bool,
    /// Objects that were registered anew by their own finalizers.
    pub(super) registered_anew: u64,
    /// A finalizer has requested a collection since the last comparison.
    pub(super) collected_inside: bool,
    /// Finalizers or callbacks ran since the last comparison.
    ran: bool,
    /// Garbage that was due for finalization at some moment of the running op: objects that are found dead together
    /// are all finalized, whatever the first of their finalizers brings back.
    was_dead: HashSet<Id>,
    /// Of that: objects in rings, or owned by such, until the finalizer of a member broke the ring.
    in_rings: HashSet<Id>,
    /// A collection in parts is under way.
    pub(super) in_parts: bool,
}

impl Finalizing {
    pub(super) fn idle_parts(&self) -> bool {
        !self.in_parts
    }
}

impl<H: HeapUnderTest> Replay<'_, H> {
    /// Applies what has happened.
    pub(super) fn events(&mut self) -> Result<(), String> {
        self.events_pending().map(|_| ())
    }

    /// The same; returns whether there were any events.
    pub(super) fn events_pending(&mut self) -> Result<bool, String> {
        let events = self.heap.take_events();
        self.finalizing.was_dead.clear();
        self.finalizing.in_rings.clear();
        for event in &events {
            self.finalizing.ran_in_this_op = true;
            self.finalizing.ran = true;
            match *event {
                Event::Finalized(address) => self.finalized(address)?,
                Event::Allocated { object, pair } => self.allocated(object, pair)?,
                Event::Escaped(address) => self.escaped(address)?,
                Event::Called(address) => self.called(address)?,
            }
        }
        match self.finalizing.unwinding.first() {
            Some(id) => Err(format!("what left the finalizer of {} was not told", self.describe(*id))),
            None => Ok(!events.is_empty()),
        }
    }

    fn at(&self, address: u64, what: &str) -> Result<Id, String> {
        let id = self.newest_at.get(&address).copied().filter(|id| self.model.knows(*id));
        id.ok_or_else(|| format!("{what} {address:#x}, which is no object any more"))
    }

    fn finalized(&mut self, address: u64) -> Result<(), String> {
        let id = self.at(address, "a finalizer ran for")?;
        self.summary.finalized += 1;
        let reachable = self.model.reachable();
        let dead = self.model.registered.iter().filter(|id| !reachable[**id as usize]);
        self.finalizing.was_dead.extend(dead);
        if !self.model.registered.remove(&id) {
            return Err(format!("the finalizer of {} ran, and it was not to run, or not again", self.describe(id)));
        }
        if !self.finalizing.was_dead.contains(&id) {
            return Err(format!("the finalizer of {} ran, and that is reachable", self.describe(id)));
        }
        self.check_order(id, &reachable)?;
        self.finalizing.epochs_awaiting.remove(&id);
        self.model.begin_reclaim(id, &reachable);
        self.control.note_resurrection();
        let deed = match self.model.load(id, DEED) {
            Word::Raw(bits) => Deed::decode(bits).ok_or("a deed that is none")?,
            _ => return Err(format!("the deed of {} is a reference", self.describe(id))),
        };
        self.model.store(id, DEED, Word::Raw(deed.after().encode()));
        self.perform_deed(id, deed);
        Ok(())
    }

    fn perform_deed(&mut self, id: Id, deed: Deed) {
        let at = |global: u8| usize::from(global) % GLOBALS;
        match deed {
            Deed::Nothing | Deed::Allocate | Deed::Poll | Deed::Again(0) => {}
            Deed::Keep(global) => self.model.globals[at(global)] = Some(id),
            Deed::Hang(global) => {
                if let Some(holder) = self.model.globals[at(global)]
                    && let Some(offset) = hang_offset(self.model.object(holder).kind)
                {
                    self.model.store(holder, offset, Word::Reference(id));
                }
            }
            Deed::Write(global) => {
                let word = self.model.globals[at(global)].map_or(Word::Raw(0), Word::Reference);
                self.model.store(id, 0, word);
            }
            Deed::Clear => [0, 8].into_iter().for_each(|offset| self.model.store(id, offset, Word::Raw(0))),
            Deed::Drop(global) => self.model.globals[at(global)] = None,
            Deed::Again(_) => {
                self.model.registered.insert(id);
                self.finalizing.registered_anew += 1;
            }
            Deed::Panic => self.finalizing.unwinding.push(id),
            Deed::Collect => self.finalizing.collected_inside = true,
        }
    }

    fn is_owner_first(&self, id: Id) -> bool {
        self.model.object(id).kind.shape().finalizer == Some(Finalizes::OwnerFirst)
    }

    fn owner_waits(&self, id: Id) -> bool {
        self.is_owner_first(id) && self.model.registered.contains(&id)
    }

    /// Checks that no object of an owner-first kind that refers to this one is still to be finalized, unless rings
    /// are among those above it: then all members of the set run, in any order.
    fn check_order(&mut self, id: Id, reachable: &[bool]) -> Result<(), String> {
        let garbage: Vec<Id> = self.model.known().filter(|other| !reachable[*other as usize]).collect();
        if !self.is_owner_first(id) && !garbage.iter().any(|other| self.owner_waits(*other)) {
            return Ok(());
        }
        let rings = self.rings_among(&garbage, reachable);
        self.finalizing.in_rings.extend(rings);
        if !self.is_owner_first(id) || self.finalizing.in_rings.contains(&id) {
            return Ok(());
        }
        let owns = |other: Id| self.owner_waits(other) && self.model.references(other).any(|target| target == id);
        match garbage.iter().find(|other| owns(**other)) {
            Some(owner) => {
                let (owned, owner) = (self.describe(id), self.describe(*owner));
                Err(format!("{owned} was finalized before {owner}, which owns it"))
            }
            None => Ok(()),
        }
    }

    /// The objects of these that are members of a ring, or come after one: those left when objects without references
    /// to them are removed, one after the other. A key refers to what an ephemeron holds for its sake.
    fn rings_among(&self, garbage: &[Id], reachable: &[bool]) -> HashSet<Id> {
        let mut owners: HashMap<Id, usize> = garbage.iter().map(|&id| (id, 0)).collect();
        let weakly = self.model.held_because_of(reachable);
        let held_for = |id: Id| weakly.iter().filter(move |(key, _)| *key == id).map(|(_, target)| *target);
        for target in garbage.iter().flat_map(|&id| self.model.references(id).chain(held_for(id))) {
            owners.entry(target).and_modify(|count| *count += 1);
        }
        let mut free: Vec<Id> = garbage.iter().copied().filter(|id| owners[id] == 0).collect();
        while let Some(id) = free.pop() {
            owners.remove(&id);
            for target in self.model.references(id).chain(held_for(id)) {
                if let Some(count) = owners.get_mut(&target) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(target);
                    }
                }
            }
        }
        owners.into_keys().collect()
    }

    fn allocated(&mut self, address: u64, pair: Option<u64>) -> Result<(), String> {
        let id = self.at(address, "a finalizer allocated for")?;
        let Some(pair) = pair else { return self.allocation_inside_failed() };
        let new = self.enter(Kind::Pair, 0, pair);
        for offset in data_offsets(self.model.object(new)) {
            self.model.store(new, offset, Word::Raw(0));
        }
        self.model.store(id, 8, Word::Reference(new));
        self.control.note_births(Some(1));
        Ok(())
    }

    fn escaped(&mut self, address: u64) -> Result<(), String> {
        let id = self.at(address, "something left the finalizer of")?;
        match self.finalizing.unwinding.iter().position(|unwinding| *unwinding == id) {
            Some(place) => {
                self.finalizing.unwinding.swap_remove(place);
                Ok(())
            }
            None => Err(format!("something left the finalizer of {}, which did not unwind", self.describe(id))),
        }
    }

    fn called(&mut self, address: u64) -> Result<(), String> {
        let id = self.at(address, "a callback was called with")?;
        self.summary.called += 1;
        // It may be owed for long: the slot may refer to another object by now.
        if self.model.owed.remove(&id).is_some() {
            self.take_call_for_later_targets(id);
            return Ok(());
        }
        let Some(&(offset, target, sure)) = self.model.weak_slots(id).first() else {
            return Err(format!(
                "the callback of {} was called, and it was not to be, or not again",
                self.describe(id)
            ));
        };
        if sure && self.model.reachable()[target as usize] {
            let (weak, target) = (self.describe(id), self.describe(target));
            return Err(format!("the callback of {weak} was called, and {target} is reachable"));
        }
        self.model.clear_weak(id, offset);
        self.model.owed.remove(&id);
        Ok(())
    }

    /// The reference may have been set anew between the death of its target and the call: if that target has died as well by now, the one
    /// call may stand for both.
    fn take_call_for_later_targets(&mut self, id: Id) {
        let reachable = self.model.reachable();
        for (offset, target, _) in self.model.weak_slots(id) {
            if !reachable[target as usize] && self.heap.load(self.addresses[id as usize], offset) == 0 {
                self.model.clear_weak(id, offset);
                self.model.owed.insert(id, Owed::Perhaps);
            }
        }
    }

    /// Checks that finalizers of garbage that counting finds run in time.
    pub(super) fn compare_awaiting(&mut self, awaiting: &[Id]) -> Result<(), String> {
        let before = std::mem::take(&mut self.finalizing.epochs_awaiting);
        let patience = if self.heap.deaths() == Deaths::Deferred { EPOCHS_TO_FREE } else { 2 };
        for &id in if self.control.stopped { &[] } else { awaiting } {
            let epochs = before.get(&id).unwrap_or(&0) + 1;
            if epochs > patience {
                return Err(format!(
                    "{} is unreachable since {epochs} comparisons and in no cycle, but its finalizer has not run",
                    self.describe(id)
                ));
            }
            self.finalizing.epochs_awaiting.insert(id, epochs);
        }
        Ok(())
    }

    /// Begins an interval after the comparison of the live set.
    pub(super) fn begin_interval(&mut self) {
        (self.finalizing.ran, self.finalizing.collected_inside) = (false, false);
    }

    /// Comparisons at which counted garbage may still be there under the prompt plan: objects that finalizers have
    /// dropped in this safepoint may wait for the next.
    pub(super) fn patience_with_garbage(&self) -> u32 {
        if self.finalizing.ran { 2 } else { 1 }
    }
}
