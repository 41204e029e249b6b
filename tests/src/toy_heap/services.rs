//! The services of the toy heap: as simple as the rest of it, and as easily made wrong.
//!
//! Weak slots, entries and registrations are plain tables. Dead objects are first finalized, one at a time, and
//! reachability is computed again after each; objects are freed only when none is left to finalize.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tally_heap::services::weak_map::WeakMode;

use super::{Fault, ToyHeap};
use crate::heap_under_test::{HeapUnderTest, Refusal, Services};
use crate::op::deed::{Deed, Event, hang_offset};
use crate::op::service::GLOBAL_HANDLES;
use crate::op::{GLOBALS, deed};
use crate::shape::{DEED, Finalizes, Kind};

#[derive(Default)]
pub(super) struct ToyServices {
    events: Vec<Event>,
    registered: BTreeSet<u64>,
    /// By holder and offset: target, and whether it is a key.
    weak: BTreeMap<(u64, u64), (u64, bool)>,
    maps: BTreeMap<u64, (WeakMode, BTreeMap<u64, u64>)>,
    /// The members of weak sets.
    sets: BTreeMap<u64, BTreeSet<u64>>,
    handles: Vec<Option<u64>>,
    scopes: Vec<usize>,
    global_handles: [Option<u64>; GLOBAL_HANDLES],
    open: Vec<u64>,
    failing: u64,
    stopped: bool,
}

impl ToyHeap {
    pub(super) fn note_birth(&mut self, address: u64, kind: Kind) {
        if kind.shape().finalizer.is_some_and(|finalizer| finalizer != Finalizes::Registered) {
            self.services.registered.insert(address);
        }
    }

    pub(super) fn is_to_fail(&mut self) -> bool {
        let fails = self.services.failing == 1;
        self.services.failing = self.services.failing.saturating_sub(1);
        fails && self.fault != Some(Fault::NeverFails)
    }

    /// Whether a weak slot or an entry leads to the object, or a weak slot lies in it.
    pub(super) fn has_identity(&self, address: u64) -> bool {
        let in_slot = self.services.weak.iter().any(|((holder, _), (target, _))| [*holder, *target].contains(&address));
        let leads = |(key, value): (&u64, &u64)| [*key, *value].contains(&address);
        let in_set = self.services.sets.values().any(|members| members.contains(&address));
        in_slot || in_set || self.services.maps.values().any(|(_, entries)| entries.iter().any(leads))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.services.stopped
    }

    pub(super) fn held_by_handles(&self) -> Vec<u64> {
        let handles = self.services.handles.iter().chain(&self.services.global_handles);
        let handles = handles.flatten().filter(|_| self.fault != Some(Fault::OverlooksHandles));
        let open = self.services.open.iter().filter(|_| self.fault != Some(Fault::OverlooksOpenObjects));
        handles.chain(open).copied().collect()
    }

    /// Whether its references live only with a key.
    pub(super) fn has_key(&self, address: u64) -> bool {
        let mut slots = self.services.weak.range((address, 0)..(address + 1, 0));
        slots.any(|(_, (_, key))| *key) && self.fault != Some(Fault::EphemeronsAreStrong)
    }

    /// The objects that ephemerons and maps hold, if these objects are alive.
    pub(super) fn held_on_condition(&self, seen: &HashSet<u64>) -> Vec<u64> {
        let mut held = Vec::new();
        for ((holder, _), (target, key)) in &self.services.weak {
            let weak = self.fault == Some(Fault::EphemeronsAreWeak);
            if *key && seen.contains(holder) && seen.contains(target) && !weak {
                held.extend(self.references(*holder));
            }
        }
        for (_, (mode, entries)) in self.services.maps.iter().filter(|(map, _)| seen.contains(map)) {
            match mode {
                WeakMode::Keys => {
                    held.extend(entries.iter().filter(|(key, _)| seen.contains(key)).map(|entry| entry.1))
                }
                WeakMode::Values => held.extend(entries.keys()),
                WeakMode::Both => {}
            }
        }
        held
    }

    /// The objects that entries count, in maps that are still there.
    pub(super) fn held_by_entries(&self) -> Vec<u64> {
        let maps = self.services.maps.values();
        maps.flat_map(|(mode, entries)| match mode {
            WeakMode::Keys => entries.values().copied().collect(),
            WeakMode::Values => entries.keys().copied().collect(),
            WeakMode::Both => Vec::new(),
        })
        .collect()
    }

    /// Removes entries whose values are not `kept`, with their keys; returns whether there were any.
    pub(super) fn let_entries_go(&mut self, kept: &HashSet<u64>) -> bool {
        if self.fault == Some(Fault::KeepsEntries) {
            return false;
        }
        let mut any = false;
        for (mode, entries) in self.services.maps.values_mut().filter(|(mode, _)| *mode == WeakMode::Values) {
            let before = entries.len();
            entries.retain(|_, value| kept.contains(value));
            any |= entries.len() != before && *mode == WeakMode::Values;
        }
        any
    }

    /// Ends dead objects: finalizes one of them, or frees all. Returns true when one was finalized.
    pub(super) fn end(&mut self, dead: &HashSet<u64>) -> bool {
        let waiting: Vec<u64> = self.services.registered.iter().copied().filter(|at| dead.contains(at)).collect();
        if !waiting.is_empty() && self.fault != Some(Fault::ForgetsFinalizers) {
            let is_owner = |at: u64| self.objects[&at].kind == Kind::Owner;
            let owned: HashSet<u64> =
                waiting.iter().filter(|at| is_owner(**at)).flat_map(|at| self.references(*at)).collect();
            let last = self.fault == Some(Fault::FinalizesOwnersLast);
            let first = waiting.iter().find(|at| !is_owner(**at) || owned.contains(at) == last);
            self.finalize(*first.unwrap_or(&waiting[0]));
            return true;
        }
        let before = self.objects.len();
        self.objects.retain(|address, _| !dead.contains(address));
        if self.fault != Some(Fault::Miscounts) {
            self.freed += (before - self.objects.len()) as u64;
        }
        self.services.registered.retain(|at| !dead.contains(at));
        self.services.weak.retain(|(holder, _), _| !dead.contains(holder));
        self.services.maps.retain(|map, _| !dead.contains(map));
        self.stacks.end(dead);
        self.services.sets.retain(|set, _| !dead.contains(set));
        if self.fault != Some(Fault::KeepsMembers) {
            self.services.sets.values_mut().for_each(|members| members.retain(|member| !dead.contains(member)));
        }
        if self.fault != Some(Fault::KeepsEntries) {
            for (_, entries) in self.services.maps.values_mut() {
                entries.retain(|key, value| !dead.contains(key) && !dead.contains(value));
            }
        }
        if self.fault != Some(Fault::LeavesWeakSlots) {
            self.clear(|target, _| dead.contains(&target));
        }
        false
    }

    /// Clears the weak slots for which `is_gone` is true: it gets the target, and whether it is a key.
    fn clear(&mut self, is_gone: impl Fn(u64, bool) -> bool) {
        let slots = self.services.weak.iter().filter(|(_, (target, key))| is_gone(*target, *key));
        let slots: Vec<((u64, u64), bool)> = slots.map(|(slot, (_, key))| (*slot, *key)).collect();
        for ((holder, offset), key) in slots {
            self.services.weak.remove(&(holder, offset));
            self.store_data(holder, offset, 0);
            let kind = self.objects[&holder].kind;
            if key {
                kind.shape().refs.iter().for_each(|slot| self.store_data(holder, u64::from(*slot), 0));
            }
            if kind == Kind::WeakCalled && self.fault != Some(Fault::NeverCalls) {
                self.services.events.push(Event::Called(holder));
            }
        }
    }

    fn finalize(&mut self, object: u64) {
        if self.fault != Some(Fault::FinalizesAgain) || self.services.events.len() > 5 {
            self.services.registered.remove(&object);
        }
        self.services.events.push(Event::Finalized(object));
        self.clear(|target, key| target == object && !key);
        self.services.sets.values_mut().for_each(|members| _ = members.remove(&object));
        for (mode, entries) in self.services.maps.values_mut() {
            entries.retain(|_, value| *mode == WeakMode::Keys || *value != object);
        }
        let deed = Deed::decode(self.load(object, DEED)).expect("a deed");
        self.store_data(object, DEED, deed.after().encode());
        let at = |global: u8| usize::from(global) % GLOBALS;
        match deed {
            Deed::Nothing | Deed::Collect | Deed::Poll | Deed::Again(0) => {}
            Deed::Keep(global) => self.globals[at(global)] = Some(object),
            Deed::Hang(global) => {
                let holder = self.globals[at(global)];
                if let Some(offset) = holder.and_then(|holder| hang_offset(self.objects[&holder].kind)) {
                    self.store_data(holder.expect("it has a kind"), offset, object);
                }
            }
            Deed::Write(global) => self.store_data(object, 0, self.globals[at(global)].unwrap_or(0)),
            Deed::Clear => [0, 8].into_iter().for_each(|offset| self.store_data(object, offset, 0)),
            Deed::Allocate => {
                let pair = self.allocate(Kind::Pair, 0).ok();
                self.services.events.push(deed::Event::Allocated { object, pair });
                pair.into_iter().for_each(|pair| self.store_data(object, 8, pair));
            }
            Deed::Drop(global) => self.globals[at(global)] = None,
            Deed::Again(_) => _ = self.services.registered.insert(object),
            Deed::Panic if self.fault == Some(Fault::SwallowsPanics) => {}
            Deed::Panic => self.services.events.push(Event::Escaped(object)),
        }
    }
}

impl Services for ToyHeap {
    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.services.events)
    }

    fn register_finalizer(&mut self, object: u64) -> bool {
        let has_one = self.objects.get(&object).is_some_and(|object| object.kind.shape().finalizer.is_some());
        if has_one {
            self.services.registered.insert(object);
        }
        has_one
    }

    fn forget_finalizer(&mut self, object: u64) {
        self.services.registered.remove(&object);
    }

    fn new_weak(&mut self, target: u64, called: bool) -> Result<u64, Refusal> {
        let weak = self.allocate(if called { Kind::WeakCalled } else { Kind::Weak }, 0)?;
        self.write_weak(weak, 0, Some(target), false);
        Ok(weak)
    }

    fn write_weak(&mut self, object: u64, offset: u64, target: Option<u64>, key: bool) {
        self.store_data(object, offset, target.unwrap_or(0));
        match target {
            Some(target) => _ = self.services.weak.insert((object, offset), (target, key)),
            None => _ = self.services.weak.remove(&(object, offset)),
        }
        if self.fault == Some(Fault::ClearsTooMuch) && self.services.weak.len().is_multiple_of(4) {
            self.store_data(object, offset, 0);
        }
    }

    fn read_weak(&mut self, object: u64, offset: u64) -> Option<u64> {
        Some(self.load(object, offset)).filter(|word| *word != 0)
    }

    fn new_ephemeron(&mut self, key: u64, value: Option<u64>) -> Result<u64, Refusal> {
        let ephemeron = self.allocate(Kind::Ephemeron, 0)?;
        self.store_data(ephemeron, 0, value.unwrap_or(0));
        self.write_weak(ephemeron, 8, Some(key), true);
        Ok(ephemeron)
    }

    fn new_map(&mut self, mode: WeakMode) -> Result<u64, Refusal> {
        let map = self.allocate(Kind::WeakMap, 0)?;
        self.services.maps.insert(map, (mode, BTreeMap::new()));
        Ok(map)
    }

    fn map_set(&mut self, map: u64, key: u64, value: u64) -> Result<(), Refusal> {
        if self.is_to_fail() {
            return Err(Refusal::asked_for("as was asked for"));
        }
        self.services.maps.get_mut(&map).expect("a map").1.insert(key, value);
        Ok(())
    }

    fn map_get(&mut self, map: u64, key: u64) -> Option<u64> {
        self.services.maps[&map].1.get(&key).copied()
    }

    fn map_remove(&mut self, map: u64, key: u64) -> bool {
        self.services.maps.get_mut(&map).expect("a map").1.remove(&key).is_some()
    }

    fn map_entries(&self, map: u64) -> Vec<(u64, u64)> {
        self.services.maps[&map].1.iter().map(|(key, value)| (*key, *value)).collect()
    }

    fn map_count(&self, map: u64) -> u64 {
        self.services.maps[&map].1.len() as u64
    }

    fn new_set(&mut self) -> Result<u64, Refusal> {
        let set = self.allocate(Kind::WeakSet, 0)?;
        self.services.sets.insert(set, BTreeSet::new());
        Ok(set)
    }

    fn set_takes(&mut self, set: u64, member: u64) -> bool {
        let in_other = |(other, members): (&u64, &BTreeSet<u64>)| *other != set && members.contains(&member);
        !self.objects[&member].words.is_empty() && !self.services.sets.iter().any(in_other)
    }

    fn set_add(&mut self, set: u64, member: u64) -> Result<(), Refusal> {
        if self.is_to_fail() {
            return Err(Refusal::asked_for("as was asked for"));
        }
        self.services.sets.get_mut(&set).expect("a set").insert(member);
        Ok(())
    }

    fn set_probe(&mut self, set: u64, hash: u32) -> Vec<u64> {
        let has_hash = |member: &u64| self.load(*member, 0) as u32 == hash;
        self.services.sets[&set].iter().copied().filter(has_hash).collect()
    }

    fn set_remove(&mut self, set: u64, member: u64) -> bool {
        self.services.sets.get_mut(&set).expect("a set").remove(&member)
    }

    fn set_count(&mut self, set: u64) -> u64 {
        self.services.sets[&set].len() as u64
    }

    fn open_scope(&mut self) {
        self.services.scopes.push(self.services.handles.len());
    }

    fn push_handle(&mut self, object: Option<u64>) {
        self.services.handles.push(object);
    }

    fn close_scope(&mut self) {
        if let Some(count) = self.services.scopes.pop() {
            self.services.handles.truncate(count);
        }
    }

    fn abandon_scope(&mut self) {
        self.services.scopes.pop();
    }

    fn close_all_scopes(&mut self) {
        self.services.scopes.clear();
        if self.fault != Some(Fault::LeaksScopes) {
            self.services.handles.clear();
        }
    }

    fn raise(&mut self, object: Option<u64>, _: u32) {
        self.poll();
        if self.fault == Some(Fault::LeaksScopes) {
            self.services.handles.push(object);
        }
    }

    fn set_global_handle(&mut self, handle: usize, object: Option<u64>) {
        self.services.global_handles[handle] = object;
    }

    fn free_global_handle(&mut self, handle: usize) {
        self.services.global_handles[handle] = None;
    }

    fn open_object(&mut self, address: u64) {
        self.services.open.push(address);
    }

    fn close_object(&mut self, address: u64) {
        let place = self.services.open.iter().position(|&open| open == address).expect("it is open");
        self.services.open.swap_remove(place);
    }

    fn store_open(&mut self, address: u64, offset: u64, word: u64) {
        if self.fault != Some(Fault::LosesOpenStores) {
            self.store(address, offset, word);
        }
    }

    fn stop(&mut self) {
        self.services.stopped = true;
    }

    fn restart(&mut self) {
        self.services.stopped = false;
    }

    fn set_limit(&mut self, _: Option<u64>) {}

    fn fail_allocation(&mut self, number: u64) {
        self.services.failing = number;
    }

    fn part(&mut self) -> bool {
        if self.fault != Some(Fault::CompletesAtOnce) {
            self.sweep();
        }
        true
    }
}
